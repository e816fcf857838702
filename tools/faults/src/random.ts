/** A generator of random numbers that returns the same numbers for the same seed. */
export interface Random {
  /** At least 0 and less than 1. */
  next(): number;
  /** A whole number of 0 to `limit - 1`. */
  below(limit: number): number;
  /** A whole number of `least` to `most`. */
  between(least: number, most: number): number;
  pick<T>(all: readonly T[]): T;
  /** A generator of its own, which depends on the seed and the name only. Concurrent users do not share numbers. */
  fork(name: string): Random;
}

export const SEED_MAX = 2 ** 32 - 1;

/** Mulberry32: 32 bits of state, which is enough to choose faults and amounts. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    between: (least, most) => least + below(most - least + 1),
    pick: (all) => all[below(all.length)]!,
    fork: (name) => randomOf(hashOf(`${seed} ${name}`)),
  };
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
