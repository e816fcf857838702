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

  /** @throws what the reading throws, for all that were read together */
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
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, TOGETHER_MAX);
      try {
        const results = await this.read(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index] as R));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.isReading = false;
  }
}
