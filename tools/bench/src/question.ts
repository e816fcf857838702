import { inPairs, type Pair, ratiosOf, type Spread, spreadOf } from './comparison.js';
import type { Asking, Measured } from './load.js';
import type { Growth } from './growth.js';

/** How a bench is run. */
export interface Effort {
  readonly rounds: number;
  /** How long each side is asked in each round. */
  readonly seconds: number;
  readonly connections: number;
  readonly onProgress: (line: string) => void;
}

/** What both sides are asked, and what we want to come of it. */
export interface Question {
  readonly name: string;
  /** Who answers on the other side, in words. */
  readonly control: string;
  /**
   * How many are answered a second, which are to be so many times as many; or how long one takes at the middle: so many
   * times as long at most, or so much longer.
   */
  readonly compares?: 'perSecond' | 'p50Ms' | 'addedMs';
  /** Undefined where a figure is told and not judged. */
  readonly aim?: number;
  /** Of our side alone, by a clock: a figure of one machine, if wanted nonetheless. */
  readonly p99AimMs?: number;
  readonly sides: Pair<Asking>;
}

export type Comparison = Omit<Question, 'sides'> & { readonly pairs: readonly Pair<Measured>[] };

/** What a bench found. */
export interface Result {
  readonly comparisons: readonly Comparison[];
  /** The most the service held in memory at any time under any load; undefined where none was under load. */
  readonly residentMb: number | undefined;
  readonly residentAimMb?: number | undefined;
  readonly growths?: readonly Growth[];
}

/** What is compared, of every round by itself. */
export function comparedOf({ compares = 'perSecond', pairs }: Pick<Comparison, 'compares' | 'pairs'>): Spread {
  if (compares === 'addedMs') return spreadOf(pairs.map(({ ours, control }) => ours.p50Ms - control.p50Ms));
  return ratiosOf(pairs, (measured) => measured[compares]);
}

const WARM_UP_MAX_S = 2;

/** Asks every question, one after the other. */
export async function compareAll(questions: readonly Question[], effort: Effort): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const question of questions) comparisons.push(await compare(question, effort));
  return comparisons;
}

/** Our side is always the service. */
export function resultOf(comparisons: readonly Comparison[], residentAimMb?: number): Result {
  const ours = comparisons.flatMap(({ pairs }) => pairs.map((pair) => pair.ours.residentMb ?? 0));
  const residentMb = Math.max(...ours);
  return { comparisons, residentMb: residentMb > 0 ? residentMb : undefined, residentAimMb };
}

async function compare({ sides, ...question }: Question, effort: Effort): Promise<Comparison> {
  const { name } = question;
  const { rounds, seconds, onProgress } = effort;
  onProgress(`${name}: warming up`);
  const warmUp = Math.min(WARM_UP_MAX_S, seconds);
  await sides.ours(warmUp);
  await sides.control(warmUp);
  onProgress(`${name}: ${rounds} rounds of ${seconds} s a side`);
  const pairs = await inPairs(rounds, { ours: () => sides.ours(seconds), control: () => sides.control(seconds) });
  const compared = { ...question, pairs };
  const than = compared.compares === 'addedMs' ? 'ms more than' : 'of';
  onProgress(`  ${comparedOf(compared).median.toFixed(2)} ${than} ${question.control}`);
  return compared;
}
