import { bisect } from '@banking/postgres';

/** An item that waits for the next batch. */
interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** Larger batches make the plan of the query worse. */
const BATCH_MAX = 128;

/** Reads items in batches of one round trip. Items that arrive during a read are in the next batch. */
export class BatchedReads<T, R> {
  private waiting: Waiting<T, R>[] = [];
  private isReading = false;

  /** @param readBatch returns a result for each item, in their order */
  constructor(private readonly readBatch: (items: readonly T[]) => Promise<readonly R[]>) {}

  /** @throws the error of the read. A batch that the database rejects is read in halves, so that each error is one item's alone. */
  read(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (this.isReading) return;
      this.isReading = true;
      // Deferred, so that items of the same turn of the event loop are in one batch.
      setImmediate(() => void this.readAll());
    });
  }

  private async readAll(): Promise<void> {
    while (this.waiting.length > 0) await this.readNext(this.waiting.splice(0, BATCH_MAX));
    this.isReading = false;
  }

  private async readNext(batch: readonly Waiting<T, R>[]): Promise<void> {
    const settles = await bisect(
      batch,
      async (some) => {
        const results = await this.readBatch(some.map(({ item }) => item));
        return some.map(
          ({ resolve }, index) =>
            () =>
              resolve(results[index] as R),
        );
      },
      ({ reject }, error) =>
        () =>
          reject(error),
    );
    settles.forEach((settle) => settle());
  }
}
