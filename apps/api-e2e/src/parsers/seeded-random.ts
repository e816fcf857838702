/** Random numbers that depend on the seed only (mulberry32). */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  /** @throws RangeError for an empty list */
  oneOf<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('there is nothing to choose from');
    return list[this.below(list.length)] as T;
  }
}
