import { DatabaseError } from 'pg';
import { batchedCallChannel, callBatchChannel } from './channels.js';

/**
 * Runs a batch at once. A batch that the database rejects is run in halves, and those again, until each rejected item is alone: one
 * rejected item of n costs about 2 log n runs instead of n.
 *
 * @param run returns a result for each item, in their order; when it throws, nothing of these items has happened, or it is unknown
 * @param failed the result of an item whose run failed: alone because of a `DatabaseError`, or together because of anything else
 * @returns a result for each item, in their order
 */
export async function bisect<T, R>(
  items: readonly T[],
  run: (items: readonly T[]) => Promise<readonly R[]>,
  failed: (item: T, error: Error) => R | Promise<R>,
): Promise<readonly R[]> {
  try {
    return await run(items);
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error('a batch failed', { cause: thrown });
    if (!(error instanceof DatabaseError) || items.length < 2) {
      const results: R[] = [];
      for (const item of items) results.push(await failed(item, error));
      return results;
    }
  }
  const middle = Math.ceil(items.length / 2);
  const first = await bisect(items.slice(0, middle), run, failed);
  return [...first, ...(await bisect(items.slice(middle), run, failed))];
}

/** A call that waits for the next batch. */
interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Carries out concurrent calls in batches, one batch at a time. Calls that arrive during a batch are in the next one, so a lone call
 * waits for no other, and many calls share the round trips and the commit of one.
 */
export class BatchedCalls<T, R> {
  private waiting: Waiting<T, R>[] = [];
  private isRunning = false;

  /**
   * @param run returns a result for each item, in their order; when it throws, nothing of these items has happened, or it is unknown
   * @param batchMax items of one batch at most
   */
  constructor(
    private readonly run: (items: readonly T[]) => Promise<readonly R[]>,
    private readonly batchMax = 128,
  ) {}

  /** @throws the error of the batch. A batch that the database rejects is run in halves, so that each rejection is one item's alone. */
  call(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      const waiting = { item, resolve, reject };
      this.waiting.push(waiting);
      if (batchedCallChannel.hasSubscribers) batchedCallChannel.publish(waiting);
      if (this.isRunning) return;
      this.isRunning = true;
      // Deferred, so that calls of the same turn of the event loop are in one batch.
      setImmediate(() => void this.runAll());
    });
  }

  private async runAll(): Promise<void> {
    while (this.waiting.length > 0) await this.runNext(this.waiting.splice(0, this.batchMax));
    this.isRunning = false;
  }

  private async runNext(batch: readonly Waiting<T, R>[]): Promise<void> {
    // Settled by each run of a half, so that no call waits for the runs of others.
    await bisect(
      batch,
      async (some) => {
        const results = await this.runTraced(some);
        return some.map(({ resolve }, index) => resolve(results[index] as R));
      },
      ({ reject }, error) => reject(error),
    );
  }

  private runTraced(calls: readonly Waiting<T, R>[]): Promise<readonly R[]> {
    const run = () => this.run(calls.map(({ item }) => item));
    return callBatchChannel.hasSubscribers ? callBatchChannel.tracePromise(run, { calls }) : run();
  }
}
