/** Runs work for which those of its key have to wait. */
export type InTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** A queue for each key, from which items are taken in turn. A long queue delays the other keys by one item at a time. */
export class RoundRobin<K, T> {
  /** The keys are in the order of their turns. */
  private readonly queues = new Map<K, T[]>();

  get isEmpty(): boolean {
    return this.queues.size === 0;
  }

  push(key: K, item: T): void {
    const queue = this.queues.get(key);
    if (queue) queue.push(item);
    else this.queues.set(key, [item]);
  }

  /**
   * Takes the next item of the key whose turn it is. The key then has its turn after all others.
   *
   * @param mayTake whether an item may be taken now; any other item keeps its place and delays no other key
   */
  shift(mayTake: (item: T) => boolean = () => true): T | undefined {
    for (const [key, queue] of this.queues) {
      const at = queue.findIndex(mayTake);
      if (at < 0) continue;
      const [item] = queue.splice(at, 1);
      this.queues.delete(key);
      if (queue.length > 0) this.queues.set(key, queue);
      return item;
    }
    return undefined;
  }

  /** Removes an item. The turn of its key stays. */
  remove(key: K, item: T): void {
    const queue = this.queues.get(key);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.queues.delete(key);
  }
}

/**
 * Slots that keys share: a key may take more while it has fewer than are free, and fewer than its maximum. One key alone gets half of
 * them, two get a third each, and some are left for the next key.
 */
export class FairSlots<K> {
  private readonly taken = new Map<K, number>();

  constructor(
    private free: number,
    private readonly perKeyMax = Infinity,
  ) {}

  /** Whether no key may take any. */
  get isFull(): boolean {
    return this.free <= 0;
  }

  mayTake(key: K): boolean {
    return this.takenBy(key) < Math.min(this.free, this.perKeyMax);
  }

  take(key: K, count = 1): void {
    this.free -= count;
    this.taken.set(key, this.takenBy(key) + count);
  }

  release(key: K, count = 1): void {
    this.free += count;
    const left = this.takenBy(key) - count;
    if (left > 0) this.taken.set(key, left);
    else this.taken.delete(key);
  }

  private takenBy(key: K): number {
    return this.taken.get(key) ?? 0;
  }
}
