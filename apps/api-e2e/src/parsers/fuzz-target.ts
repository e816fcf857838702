import { BlockCoverage, type BlockCount } from './block-coverage.js';
import { mutateInput } from './mutate-json.js';
import type { ParserTarget, Verdict } from './parser-target.js';
import { SeededRandom } from './seeded-random.js';

/** For one input. */
const INPUT_MS_MAX = 50;
/** The counters are read after so many inputs. */
const BATCH = 48;
const MINIMISING_MAX = 50;
/** An input that seems slow is repeated: a busy machine or a garbage collection may have delayed it. */
const REPEATS = 8;
const VIOLATIONS_MAX = 10;

export interface Violation {
  readonly input: string;
  readonly what: string;
}

export interface FuzzResult {
  readonly inputs: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly blocks: BlockCount;
  /** The inputs that reached new blocks, after the examples and the corpus. */
  readonly found: readonly string[];
  readonly worstMs: number;
  readonly worstInput: string;
  readonly violations: readonly Violation[];
}

export interface FuzzOptions {
  readonly seed: number;
  readonly corpus: readonly string[];
  /** Whether to stop, by the number of inputs so far. No mutation follows if it is true at once. */
  readonly isEnough: (inputs: number) => boolean;
  /** Called before each input, so that an input that does not return is known. */
  readonly onInput?: (input: string) => void;
  readonly onProgress?: (inputs: number) => void;
}

/** Runs a parser on mutated inputs. An input that reaches new blocks is made shorter, and mutated further. */
export async function fuzzTarget(
  target: ParserTarget,
  coverage: BlockCoverage,
  { seed, corpus, isEnough, onInput = () => {}, onProgress = () => {} }: FuzzOptions,
): Promise<FuzzResult> {
  const random = new SeededRandom(seed);
  const found: string[] = [];
  const violations: Violation[] = [];
  const verdicts = { accepted: 0, refused: 0 };
  let [inputs, worstMs, worstInput] = [0, 0, ''];

  const timed = async (input: string) => {
    const startedAt = performance.now();
    const verdict = await target.check(input);
    return { verdict, ms: performance.now() - startedAt };
  };
  const report = (input: string, what: string) => {
    if (!violations.some((other) => other.what === what)) violations.push({ input, what });
  };
  const run = async (input: string): Promise<void> => {
    inputs += 1;
    onInput(input);
    try {
      const { verdict, ms } = await timed(input);
      verdicts[verdict] += 1;
      if (ms <= worstMs) return;
      let least = ms;
      for (let times = 0; times < REPEATS && least > worstMs; times += 1)
        least = Math.min(least, (await timed(input)).ms);
      if (least <= worstMs) return;
      [worstMs, worstInput] = [least, input];
      if (least > INPUT_MS_MAX) report(input, `took ${least.toFixed(0)} ms`);
    } catch (error) {
      report(input, String(error));
    }
  };
  const add = async (input: string): Promise<void> => {
    await run(input);
    const blocks = coverage.takeNew();
    if (blocks.length === 0) return;
    const reaches = async (shorter: string) => {
      await run(shorter);
      return coverage.takeHas(blocks);
    };
    // Once more, because some blocks run only at the first use of a cache.
    if (await reaches(input)) found.push(await shortened(input, reaches));
  };

  /** Halves the inputs until one remains, because reading the counters takes longer than a parser. */
  const addFrom = async (batch: readonly string[]): Promise<void> => {
    for (const input of batch) await run(input);
    const [first] = batch;
    if (first === undefined || !coverage.takeIsNew()) return;
    if (batch.length === 1) return add(first);
    const middle = Math.ceil(batch.length / 2);
    await addFrom(batch.slice(0, middle));
    await addFrom(batch.slice(middle));
  };

  const known = [...target.examples, ...corpus];
  for (const input of known) await run(input);
  coverage.takeNew();
  while (!isEnough(inputs) && violations.length < VIOLATIONS_MAX) {
    const source = { random, tokens: target.tokens, inputs: [...known, ...found], lengthMax: target.lengthMax };
    const batch = Array.from({ length: BATCH }, () => mutateInput(random.oneOf(source.inputs), source));
    await addFrom(batch);
    onProgress(inputs);
  }
  return { inputs, verdicts, blocks: coverage.count(), found, worstMs, worstInput, violations };
}

/** Removes parts of an input, halves first, as long as the rest still reaches the same blocks. */
async function shortened(input: string, reaches: (shorter: string) => Promise<boolean>): Promise<string> {
  let shortest = input;
  let remaining = MINIMISING_MAX;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.length && remaining > 0;) {
      remaining -= 1;
      const shorter = shortest.slice(0, at) + shortest.slice(at + size);
      if (await reaches(shorter)) shortest = shorter;
      else at += size;
    }
  }
  return shortest;
}
