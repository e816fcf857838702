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
