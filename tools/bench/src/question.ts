import { inPairs, type Pair } from './comparison.js';
import { measure, type Measured } from './load.js';
import type { Answering } from './service.js';

/** How a bench is run. */
export interface Effort {
  readonly rounds: number;
  /** How long each side is asked in each round. */
  readonly seconds: number;
  readonly connections: number;
  readonly onProgress: (line: string) => void;
}

/** What both sides are asked, and the ratio we want. */
export interface Question {
  readonly name: string;
  /** Who answers on the other side, in words. */
  readonly control: string;
  readonly aim: number;
  readonly sides: Pair<Answering>;
  readonly paths: Pair<readonly string[]>;
}

export type Comparison = Pick<Question, 'name' | 'control' | 'aim'> & { readonly pairs: readonly Pair<Measured>[] };

/** What a bench found. */
export interface Result {
  readonly comparisons: readonly Comparison[];
  /** The most the service held in memory at any time under any load. */
  readonly residentMb: number;
  readonly residentAimMb: number | undefined;
}

const WARM_UP_MAX_S = 2;

/** Asks every question, one after the other. Our side is always the service. */
export async function compareAll(
  questions: readonly Question[],
  effort: Effort,
  residentAimMb?: number,
): Promise<Result> {
  const comparisons: Comparison[] = [];
  for (const question of questions) comparisons.push(await compare(question, effort));
  const ours = comparisons.flatMap(({ pairs }) => pairs.map((pair) => pair.ours.residentMb));
  return { comparisons, residentMb: Math.max(...ours), residentAimMb };
}

async function compare({ name, control, aim, sides, paths }: Question, effort: Effort): Promise<Comparison> {
  const { rounds, seconds, connections, onProgress } = effort;
  const ask = (side: keyof Pair<unknown>, forSeconds: number) => () =>
    measure({ ...sides[side], paths: paths[side], connections, seconds: forSeconds });
  onProgress(`${name}: warming up`);
  const warmUp = Math.min(WARM_UP_MAX_S, seconds);
  await ask('ours', warmUp)();
  await ask('control', warmUp)();
  onProgress(`${name}: ${rounds} rounds of ${seconds} s a side`);
  const pairs = await inPairs(rounds, { ours: ask('ours', seconds), control: ask('control', seconds) });
  return { name, control, aim, pairs };
}
