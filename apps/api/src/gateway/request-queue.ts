import type { UserId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import { FairQueue, type Turn } from '../http/fair-queue.js';

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

/**
 * Shares the connections to the upstream between callers: round-robin, one request of each caller. No caller can take all slots, see
 * {@link FairSlots}. A request that waits too long is refused without having been sent.
 */
export class RequestQueue {
  private readonly queue: FairQueue<UserId>;
  private readonly paused = new Set<string>();
  private holds = 0;

  constructor(waitMaxMs: number) {
    this.queue = new FairQueue({
      running: new FairSlots(CONCURRENT_MAX),
      waiting: new FairSlots(WAITING_MAX),
      waitMaxMs,
      waitsFor: 'a connection to the upstream service',
      ofOneKey: 'of your requests',
    });
  }

  /**
   * Sends a request when its turn comes.
   *
   * @param signal ends the wait; a request that was sent ends by itself
   * @throws Refusal `rate_limited` if the caller has too many requests in the queue, `unavailable` if the request waited too long;
   *   the error of `begin`
   */
  async run<T>(
    { actor, limitKey }: Queued,
    signal: AbortSignal,
    begin: (hasWaited: boolean) => Promise<T>,
  ): Promise<T> {
    const entry = { key: actor, mayStart: () => this.holds === 0 && !this.paused.has(limitKey) };
    const turn = this.queue.enter(entry);
    if (turn) await endedBy(signal, turn);
    try {
      return await begin(turn !== undefined);
    } finally {
      this.queue.leave(entry);
    }
  }

  /** Sends no requests with this key for a second. They then continue round-robin, so no caller uses up the limit alone. */
  pause(limitKey: string): void {
    if (this.paused.has(limitKey)) return;
    this.paused.add(limitKey);
    void pauseElapsed().then(() => {
      this.paused.delete(limitKey);
      this.queue.startNext();
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
      this.queue.startNext();
    }
  }
}

async function endedBy(signal: AbortSignal, { begun, giveUp }: Turn): Promise<void> {
  signal.addEventListener('abort', giveUp);
  try {
    await begun;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

const pauseElapsed = () => new Promise<void>((resolve) => void setTimeout(resolve, PAUSE_MS).unref());
