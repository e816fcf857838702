import { Refusal, type UserId } from '@banking/domain';
import { RoundRobin } from '@banking/operations';

/** Requests of callers that run at once: one for each connection. */
export const CONCURRENT_MAX = 64;
/** Requests of callers that wait for one of those. */
const WAITING_MAX = 256;
/** How long requests that count against a limit of the upstream are not sent after it has answered 429. */
const PAUSE_MS = 1_000;

/** A request of a caller, as far as the queue looks at it. */
interface Queued {
  readonly actor: UserId;
  /** Requests with the same key may count against one limit of the upstream. */
  readonly limitKey: string;
}

interface Waiting extends Queued {
  readonly start: () => void;
}

/**
 * Shares the connections to the upstream between callers. Callers take turns, one request each, and no caller can take every place:
 * see {@link SharedPlaces}. A request waits for a bounded time, and is refused then without having been sent.
 */
export class RequestQueue {
  private readonly running = new SharedPlaces(CONCURRENT_MAX);
  private readonly waitingPlaces = new SharedPlaces(WAITING_MAX);
  private readonly waiting = new RoundRobin<UserId, Waiting>();
  private readonly paused = new Set<string>();
  private holds = 0;

  constructor(private readonly waitMaxMs: number) {}

  /**
   * Carries a request out when it is its turn.
   *
   * @param signal ends the wait; what runs ends by itself
   * @throws Refusal `rate_limited` if the caller has too many requests here, `unavailable` if the wait was too long; and what `begin`
   *   throws
   */
  async run<T>(request: Queued, signal: AbortSignal, begin: (hasWaited: boolean) => Promise<T>): Promise<T> {
    const { actor } = request;
    const hasWaited = !this.mayStart(request);
    if (hasWaited) await this.turnOf(request, signal);
    else this.running.take(actor);
    try {
      return await begin(hasWaited);
    } finally {
      this.running.release(actor);
      this.startNext();
    }
  }

  /** Lets requests with this key wait for a second. Then they go on in turn, so a caller who sends many does not use up the limit alone. */
  pause(limitKey: string): void {
    if (this.paused.has(limitKey)) return;
    this.paused.add(limitKey);
    void passPause().then(() => {
      this.paused.delete(limitKey);
      this.startNext();
    });
  }

  /** Starts no request for a second, so that a limit that callers have used up recovers, and until this is done. */
  async holdDuring<T>(work: () => Promise<T>): Promise<T> {
    this.holds += 1;
    try {
      await passPause();
      return await work();
    } finally {
      this.holds -= 1;
      this.startNext();
    }
  }

  private mayStart({ actor, limitKey }: Queued): boolean {
    return this.holds === 0 && !this.paused.has(limitKey) && this.running.mayTake(actor);
  }

  private turnOf({ actor, limitKey }: Queued, signal: AbortSignal): Promise<void> {
    if (!this.waitingPlaces.mayTake(actor)) {
      throw new Refusal('rate_limited', 'Too many requests of yours wait for an answer already. Nothing was done.', {
        retryAfterSeconds: 1,
      });
    }
    this.waitingPlaces.take(actor);
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.waitingPlaces.release(actor);
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
          new Refusal('unavailable', 'The request waited too long for its turn. Nothing was done.', {
            retryAfterSeconds: 1,
          }),
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

const passPause = () => new Promise<void>((resolve) => void setTimeout(resolve, PAUSE_MS).unref());

/**
 * Places that callers share: a caller may take another one while it holds fewer than are free. One caller alone gets half of them, two
 * get a third each, and there is one left for the next.
 */
class SharedPlaces {
  private readonly held = new Map<UserId, number>();

  constructor(private free: number) {}

  mayTake(actor: UserId): boolean {
    return this.heldBy(actor) < this.free;
  }

  take(actor: UserId): void {
    this.free -= 1;
    this.held.set(actor, this.heldBy(actor) + 1);
  }

  release(actor: UserId): void {
    this.free += 1;
    const left = this.heldBy(actor) - 1;
    if (left > 0) this.held.set(actor, left);
    else this.held.delete(actor);
  }

  private heldBy(actor: UserId): number {
    return this.held.get(actor) ?? 0;
  }
}
