import { Refusal, type UserId } from '@banking/domain';
import { RoundRobin } from '@banking/process';

/** Concurrent requests of callers: one for each connection. */
export const CONCURRENT_MAX = 64;
/** Requests of callers that may wait. */
const WAITING_MAX = 256;
/** How long requests with one limit key are not sent after the upstream has responded 429. */
const PAUSE_MS = 1_000;

/** The properties of a request by which the queue decides. */
interface Queued {
  readonly actor: UserId;
  /** Requests with one key count against one rate limit of the upstream. */
  readonly limitKey: string;
}

interface Waiting extends Queued {
  readonly start: () => void;
}

/**
 * Shares the connections to the upstream between callers: round-robin, one request of each caller. No caller can take all slots, see
 * {@link SharedSlots}. A request that waits too long is refused without having been sent.
 */
export class RequestQueue {
  private readonly running = new SharedSlots(CONCURRENT_MAX);
  private readonly waitingSlots = new SharedSlots(WAITING_MAX);
  private readonly waiting = new RoundRobin<UserId, Waiting>();
  private readonly paused = new Set<string>();
  private holds = 0;

  constructor(private readonly waitMaxMs: number) {}

  /**
   * Sends a request when its turn comes.
   *
   * @param signal ends the wait; a request that was sent ends by itself
   * @throws Refusal `rate_limited` if the caller has too many requests in the queue, `unavailable` if the request waited too long;
   *   the error of `begin`
   */
  async run<T>(request: Queued, signal: AbortSignal, begin: (hasWaited: boolean) => Promise<T>): Promise<T> {
    const { actor } = request;
    const hasWaited = !this.mayStart(request);
    if (hasWaited) await this.waitForTurn(request, signal);
    else this.running.take(actor);
    try {
      return await begin(hasWaited);
    } finally {
      this.running.release(actor);
      this.startNext();
    }
  }

  /** Sends no requests with this key for a second. They then continue round-robin, so no caller uses up the limit alone. */
  pause(limitKey: string): void {
    if (this.paused.has(limitKey)) return;
    this.paused.add(limitKey);
    void pauseElapsed().then(() => {
      this.paused.delete(limitKey);
      this.startNext();
    });
  }

  /** Starts no request for a second, so that an exhausted limit recovers, and until `work` is done. */
  async holdDuring<T>(work: () => Promise<T>): Promise<T> {
    this.holds += 1;
    try {
      await pauseElapsed();
      return await work();
    } finally {
      this.holds -= 1;
      this.startNext();
    }
  }

  private mayStart({ actor, limitKey }: Queued): boolean {
    return this.holds === 0 && !this.paused.has(limitKey) && this.running.mayTake(actor);
  }

  private waitForTurn({ actor, limitKey }: Queued, signal: AbortSignal): Promise<void> {
    if (!this.waitingSlots.mayTake(actor)) {
      throw new Refusal('rate_limited', 'Too many of your requests are waiting already. Nothing was done.', {
        retryAfterSeconds: 1,
      });
    }
    this.waitingSlots.take(actor);
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.waitingSlots.release(actor);
      };
      const start = () => {
        leave();
        this.running.take(actor);
        resolve();
      };
      const waiting: Waiting = { actor, limitKey, start };
      const giveUp = () => {
        leave();
        this.waiting.remove(actor, waiting);
        reject(
          new Refusal(
            'unavailable',
            'The request waited too long for a connection to the upstream service. Nothing was done.',
            {
              retryAfterSeconds: 1,
            },
          ),
        );
      };
      const timer = setTimeout(giveUp, this.waitMaxMs);
      signal.addEventListener('abort', giveUp);
      this.waiting.push(actor, waiting);
    });
  }

  private startNext(): void {
    const next = () => this.waiting.shift((request) => this.mayStart(request));
    for (let request = next(); request; request = next()) request.start();
  }
}

const pauseElapsed = () => new Promise<void>((resolve) => void setTimeout(resolve, PAUSE_MS).unref());

/**
 * Slots that callers share: a caller may take another one while it has fewer than are free. One caller alone gets half of them, two
 * get a third each, and one is left for the next caller.
 */
class SharedSlots {
  private readonly taken = new Map<UserId, number>();

  constructor(private free: number) {}

  mayTake(actor: UserId): boolean {
    return this.takenBy(actor) < this.free;
  }

  take(actor: UserId): void {
    this.free -= 1;
    this.taken.set(actor, this.takenBy(actor) + 1);
  }

  release(actor: UserId): void {
    this.free += 1;
    const left = this.takenBy(actor) - 1;
    if (left > 0) this.taken.set(actor, left);
    else this.taken.delete(actor);
  }

  private takenBy(actor: UserId): number {
    return this.taken.get(actor) ?? 0;
  }
}
