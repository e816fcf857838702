/** The two sides of a comparison, each measured once a round. */
export interface Pair<T> {
  readonly ours: T;
  readonly control: T;
}

/** The middle of the rounds, and how far they lie apart. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/**
 * Measures both sides in every round, one straight after the other, and changes who goes first: what slows the machine down for a
 * while then slows both, and neither always finds it warm.
 */
export async function inPairs<T>(rounds: number, measure: Pair<() => Promise<T>>): Promise<Pair<T>[]> {
  const pairs: Pair<T>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) {
      const ours = await measure.ours();
      pairs.push({ ours, control: await measure.control() });
    } else {
      const control = await measure.control();
      pairs.push({ ours: await measure.ours(), control });
    }
  }
  return pairs;
}

/** @throws Error for no values at all */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const [min, max] = [sorted.at(0), sorted.at(-1)];
  if (min === undefined || max === undefined) throw new Error('nothing was measured');
  const upper = sorted[Math.floor(sorted.length / 2)] ?? max;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? min;
  return { median: (lower + upper) / 2, min, max };
}

/** The ratio of each round by itself: rounds are compared with themselves, never with one another. */
export function ratiosOf<T>(pairs: readonly Pair<T>[], figure: (side: T) => number): Spread {
  return spreadOf(pairs.map(({ ours, control }) => figure(ours) / figure(control)));
}
