import { bisect } from '@banking/postgres';

/** What waits for its turn. */
interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** As many as one statement is planned well for. */
const TOGETHER_MAX = 128;

/** Reads many things in one round trip: what is asked for while one is under way is read by the next. */
export class ReadingTogether<T, R> {
  private waiting: Waiting<T, R>[] = [];
  private isReading = false;

  /** @param read answers a result for each item, in their order */
  constructor(private readonly read: (items: readonly T[]) => Promise<readonly R[]>) {}

  /** @throws what the reading throws; what the database rejects is read in halves, so that the error is that item's alone */
  ask(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (this.isReading) return;
      this.isReading = true;
      // Not at once: who comes in the same turn of the loop is read in the same round trip.
      setImmediate(() => void this.readAll());
    });
  }

  private async readAll(): Promise<void> {
    while (this.waiting.length > 0) await this.readSome(this.waiting.splice(0, TOGETHER_MAX));
    this.isReading = false;
  }

  private async readSome(batch: readonly Waiting<T, R>[]): Promise<void> {
    const settles = await bisect(
      batch,
      async (some) => {
        const results = await this.read(some.map(({ item }) => item));
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
