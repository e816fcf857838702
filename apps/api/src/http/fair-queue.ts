import type { FastifyReply } from 'fastify';
import { Refusal } from '@banking/domain';
import { RoundRobin, FairSlots } from '@banking/process';
import { onResponseEnd } from './connections.js';

interface Entry<K> {
  readonly key: K;
  /** How many slots it takes while it runs. Default: 1 */
  readonly count?: number;
  /** Whether it may start now, if there are slots. Default: yes */
  readonly mayStart?: () => boolean;
  /** How long it may wait. Default: that of the queue */
  readonly waitMaxMs?: number;
}

export interface Turn {
  /** Rejects with `unavailable` if the entry waited too long, or gave up. */
  readonly begun: Promise<void>;
  /** Leaves the queue. Without effect once the entry has begun. */
  readonly giveUp: () => void;
}

interface Waiting<K> extends Entry<K> {
  readonly start: () => void;
}

interface FairQueueOptions<K> {
  readonly running: FairSlots<K>;
  readonly waiting: FairSlots<K>;
  readonly waitMaxMs: number;
  /** What an entry waits for, for messages. */
  readonly waitsFor: string;
  /** The entries that share a key, for messages. */
  readonly ofOneKey: 'of your requests' | 'requests of the workspace' | 'such requests';
}

/** Shares slots between keys: round-robin, one entry of each key, so a key with many entries delays no other by more than one. */
export class FairQueue<K> {
  private readonly queues = new RoundRobin<K, Waiting<K>>();

  constructor(private readonly options: FairQueueOptions<K>) {}

  /**
   * Takes slots, which the caller releases with {@link leave}.
   *
   * @returns the wait for them; undefined if they were free
   * @throws Refusal `rate_limited` if too many entries of the key wait
   */
  enter(entry: Entry<K>): Turn | undefined {
    if (!this.mayStart(entry)) return this.wait(entry);
    this.options.running.take(entry.key, entry.count);
    return undefined;
  }

  /** Runs work in its turn. @throws Refusal `rate_limited` or `unavailable` before it has begun. @throws what the work throws */
  async run<T>(entry: Entry<K>, work: () => Promise<T>): Promise<T> {
    await this.enter(entry)?.begun;
    return work().finally(() => this.leave(entry));
  }

  /** Releases the slots of an entry that has begun. */
  leave({ key, count }: Entry<K>): void {
    this.options.running.release(key, count);
    this.startNext();
  }

  /** Starts the entries that may start. Call it when `mayStart` of one may have changed. */
  startNext(): void {
    const next = () => this.queues.shift((entry) => this.mayStart(entry));
    for (let entry = next(); entry; entry = next()) entry.start();
  }

  private mayStart({ key, mayStart }: Entry<K>): boolean {
    return this.options.running.mayTake(key) && (mayStart?.() ?? true);
  }

  private wait(entry: Entry<K>): Turn {
    const { key, count } = entry;
    const { running, waiting, waitMaxMs, waitsFor, ofOneKey } = this.options;
    if (!waiting.mayTake(key)) {
      const message = `Too many ${ofOneKey} are waiting already. Nothing was done.`;
      throw new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
    }
    waiting.take(key);
    let giveUp: () => void = () => undefined;
    const begun = new Promise<void>((resolve, reject) => {
      let isWaiting = true;
      const end = () => {
        isWaiting = false;
        clearTimeout(timer);
        waiting.release(key);
      };
      const start = () => {
        end();
        running.take(key, count);
        resolve();
      };
      const queued = { ...entry, start };
      giveUp = () => {
        if (!isWaiting) return;
        end();
        this.queues.remove(key, queued);
        const message = `The request waited too long for ${waitsFor}. Nothing was done.`;
        reject(new Refusal('unavailable', message, { retryAfterSeconds: 1 }));
      };
      const timer = setTimeout(giveUp, entry.waitMaxMs ?? waitMaxMs);
      this.queues.push(key, queued);
    });
    return { begun, giveUp };
  }
}

/**
 * Waits for the turn of a request, and gives it up if the client disconnects before.
 *
 * @returns ends the turn
 * @throws Refusal `rate_limited` or `unavailable`, see {@link FairQueue}
 */
export async function takeTurn<K>(
  queue: FairQueue<K>,
  entry: Entry<K>,
  reply: Pick<FastifyReply, 'raw' | 'request'>,
): Promise<() => void> {
  const turn = queue.enter(entry);
  if (turn) {
    const stopListening = onResponseEnd(reply, turn.giveUp);
    await turn.begun.finally(stopListening);
  }
  return () => queue.leave(entry);
}
