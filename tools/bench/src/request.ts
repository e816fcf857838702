import { inPairs, type Pair, ratiosOf, type Spread, spreadOf } from './comparison.js';
import type { LoadRun, Measured } from './load.js';
import type { Growth } from './growth.js';
import type { Residence } from './residence.js';

/** The options of a measurement. */
export interface Effort {
  readonly rounds: number;
  /** The duration of each side in each round. */
  readonly seconds: number;
  readonly connections: number;
  readonly onProgress: (line: string) => void;
}

/** Two sides to compare, and the target of the comparison. */
export interface ComparisonPlan {
  readonly name: string;
  /** A description of the control. */
  readonly control: string;
  /**
   * Responses per second, as a ratio to reach; or the median latency, as a ratio or a difference not to exceed.
   */
  readonly compares?: 'perSecond' | 'p50Ms' | 'addedMs';
  /** Undefined if the figure is only reported. */
  readonly aim?: number;
  /** For the service alone, per second of this machine. */
  readonly perSecondAim?: number;
  /** False if the chart leaves the comparison out. */
  readonly isCharted?: boolean;
  /** For the service alone, in milliseconds of this machine. */
  readonly p99AimMs?: number;
  /** Whether each run of a side warms up by itself, because it starts its own processes. */
  readonly warmsUp?: boolean;
  readonly sides: Pair<LoadRun>;
}

export type Comparison = Omit<ComparisonPlan, 'sides' | 'warmsUp'> & { readonly pairs: readonly Pair<Measured>[] };

/** The result of a measurement. */
export interface Result {
  readonly comparisons: readonly Comparison[];
  /** The maximum resident memory of the service under load; undefined without a load. */
  readonly residentMb: number | undefined;
  readonly residentAimMb?: number | undefined;
  readonly growths?: readonly Growth[];
  readonly residences?: readonly Residence[];
}

/** The compared figure of each round. */
export function comparedOf({ compares = 'perSecond', pairs }: Pick<Comparison, 'compares' | 'pairs'>): Spread {
  if (compares === 'addedMs') return spreadOf(pairs.map(({ ours, control }) => ours.p50Ms - control.p50Ms));
  return ratiosOf(pairs, (measured) => measured[compares]);
}

/** A number with separators of thousands, for names. */
export const counted = (count: number) => count.toLocaleString('en');

const WARM_UP_MAX_S = 2;

/** The duration of the warm-up before runs of so many seconds. */
export const warmUpOf = (seconds: number) => Math.min(WARM_UP_MAX_S, seconds);

/** Runs the comparisons one after another. */
export async function compareAll(questions: readonly ComparisonPlan[], effort: Effort): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const question of questions) comparisons.push(await compare(question, effort));
  return comparisons;
}

/** `ours` is always the service. */
export function resultOf(comparisons: readonly Comparison[], residentAimMb?: number): Result {
  const ours = comparisons.flatMap(({ pairs }) => pairs.map((pair) => pair.ours.residentMb ?? 0));
  const residentMb = Math.max(...ours);
  return { comparisons, residentMb: residentMb > 0 ? residentMb : undefined, residentAimMb };
}

async function compare({ sides, warmsUp = false, ...question }: ComparisonPlan, effort: Effort): Promise<Comparison> {
  const { name } = question;
  const { rounds, seconds, onProgress } = effort;
  if (!warmsUp) {
    onProgress(`${name}: warming up`);
    await sides.ours(warmUpOf(seconds));
    await sides.control(warmUpOf(seconds));
  }
  onProgress(`${name}: ${rounds} rounds of ${seconds} s per side`);
  const pairs = await inPairs(rounds, { ours: () => sides.ours(seconds), control: () => sides.control(seconds) });
  const compared = { ...question, pairs };
  const than = compared.compares === 'addedMs' ? 'ms more than' : 'of';
  onProgress(`  ${comparedOf(compared).median.toFixed(2)} ${than} ${question.control}`);
  return compared;
}
