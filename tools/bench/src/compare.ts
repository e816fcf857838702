import { cpus, loadavg, totalmem } from 'node:os';
import type { LoadRun, Measured } from './load.js';

/** The options of every bench. */
export interface Effort {
  readonly rounds: number;
  /** The duration of each side in each round. */
  readonly seconds: number;
  readonly connections: number;
  readonly onProgress: (line: string) => void;
}

/** Two sides to compare: the service, and what its user could choose instead. */
export interface Comparison {
  readonly name: string;
  /** A description of the control. */
  readonly control: string;
  /** What is compared: the responses a second as a ratio, the median latency as a difference, or the CPU time as a ratio. */
  readonly of?: 'throughput' | 'latency' | 'cpu';
  /** The least ratio that we aim at, of CPU time the greatest. */
  readonly aim?: number;
  /** Whether each run of a side warms up by itself, because it starts its own processes. */
  readonly warmsUp?: boolean;
  readonly ours: LoadRun;
  readonly theirs: LoadRun;
}

/** The middle of the rounds, and how far they lie apart. */
interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** One line of the table. */
export interface Figure extends Pick<Comparison, 'name' | 'control' | 'aim'> {
  readonly unit: 'ratio' | 'ms' | 'cpu';
  /** The ratio of each round by itself: rounds are compared with themselves, never with one another. */
  readonly value: Spread;
  /** Medians of the responses per second of both sides, and of the slowest hundredth of ours. */
  readonly perSecond: number;
  readonly controlPerSecond: number;
  readonly p99Ms: number;
  /** The highest resident memory of the service; undefined if it was not the one under load. */
  readonly residentMb: number | undefined;
  /** Medians of the CPU time of both sides, of Node and of PostgreSQL; undefined where they are not measured. */
  readonly cpuUs: Measured['cpuUs'];
  readonly controlCpuUs: Measured['cpuUs'];
}

const WARM_UP_MAX_S = 2;

/** The duration of the warm-up before runs of so many seconds. */
export const warmUpOf = (seconds: number) => Math.min(WARM_UP_MAX_S, seconds);

/**
 * Measures both sides in every round, one straight after the other, and changes who goes first: what slows the machine down for a
 * while then slows both, and neither always finds it warm.
 */
export async function compare(comparison: Comparison, effort: Effort): Promise<Figure> {
  const { name, control, aim, of = 'throughput', warmsUp = false, ours, theirs } = comparison;
  const { rounds, seconds, onProgress } = effort;
  if (!warmsUp) {
    onProgress(`${name}: warming up`);
    for (const side of [ours, theirs]) await side(warmUpOf(seconds));
  }
  onProgress(`${name}: ${rounds} rounds of ${seconds} s per side`);
  const pairs: { readonly ours: Measured; readonly theirs: Measured }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const first = await (round % 2 === 0 ? ours : theirs)(seconds);
    const second = await (round % 2 === 0 ? theirs : ours)(seconds);
    pairs.push(round % 2 === 0 ? { ours: first, theirs: second } : { ours: second, theirs: first });
  }
  const spread = (of: (pair: (typeof pairs)[number]) => number) => spreadOf(pairs.map(of));
  const residentMb = Math.max(...pairs.map((pair) => pair.ours.residentMb ?? 0));
  const cpuOf = ({ cpuUs = { node: NaN, postgres: NaN } }: Measured) => cpuUs.node + cpuUs.postgres;
  const cpuTimes = (side: 'ours' | 'theirs') => {
    const part = (name: 'node' | 'postgres') => spread((pair) => pair[side].cpuUs?.[name] ?? NaN).median;
    return pairs.every((pair) => pair[side].cpuUs) ? { node: part('node'), postgres: part('postgres') } : undefined;
  };
  const value = spread(
    {
      throughput: (pair: (typeof pairs)[number]) => pair.ours.perSecond / pair.theirs.perSecond,
      latency: (pair: (typeof pairs)[number]) => pair.ours.p50Ms - pair.theirs.p50Ms,
      cpu: (pair: (typeof pairs)[number]) => cpuOf(pair.ours) / cpuOf(pair.theirs),
    }[of],
  );
  onProgress(`  ${value.median.toFixed(2)} ${of === 'latency' ? 'ms more than' : 'of'} ${control}`);
  return {
    ...{ name, control, value, unit: of === 'latency' ? 'ms' : of === 'cpu' ? 'cpu' : 'ratio' },
    ...{ cpuUs: cpuTimes('ours'), controlCpuUs: cpuTimes('theirs') },
    ...(aim !== undefined && { aim }),
    perSecond: spread((pair) => pair.ours.perSecond).median,
    controlPerSecond: spread((pair) => pair.theirs.perSecond).median,
    p99Ms: spread((pair) => pair.ours.p99Ms).median,
    residentMb: residentMb > 0 ? residentMb : undefined,
  };
}

/** Runs the comparisons one after another. */
export async function compareAll(comparisons: readonly Comparison[], effort: Effort): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const comparison of comparisons) figures.push(await compare(comparison, effort));
  return figures;
}

/** @throws Error for no values at all */
function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const [min, max] = [sorted.at(0), sorted.at(-1)];
  if (min === undefined || max === undefined) throw new Error('nothing was measured');
  const upper = sorted[Math.floor(sorted.length / 2)] ?? max;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? min;
  return { median: (lower + upper) / 2, min, max };
}

/** A number with the digits that its size needs. */
function shownNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const shownCpu = (cpuUs: Measured['cpuUs']) =>
  cpuUs === undefined ? '' : `${shownNumber(cpuUs.node)} + ${shownNumber(cpuUs.postgres)} µs`;

/** CPU time is of Node and of PostgreSQL, for a response. */
const HEAD = [
  'Measured',
  'Control',
  'Aim',
  'Result',
  'A second',
  'Control, a second',
  'p99',
  'Memory',
  'CPU',
  'Control, CPU',
];

/** The figures in Markdown, as Prettier formats a table. */
export function tableOf(figures: readonly Figure[]): string {
  const cores = cpus();
  const rows = figures.map((figure) => {
    const { name, control, aim, unit, value, perSecond, controlPerSecond, p99Ms, residentMb } = figure;
    const range = `${shownNumber(value.min)} to ${shownNumber(value.max)}`;
    const isMissed = aim !== undefined && (unit === 'cpu' ? value.median > aim : value.median < aim);
    const missed = isMissed ? ', **missed**' : '';
    return [
      // Paths are code, because Markdown would read `{` and `_`.
      name.replace(/^(GET [^\s,]+)/, '`$1`'),
      control,
      aim === undefined ? '' : `${unit === 'cpu' ? '≤' : '≥'} ${shownNumber(aim)}`,
      `${shownNumber(value.median)}${{ ms: ' ms more', cpu: ' of the CPU time', ratio: '' }[unit]} (${range})${missed}`,
      ...[shownNumber(perSecond), shownNumber(controlPerSecond), `${shownNumber(p99Ms)} ms`],
      residentMb === undefined ? '' : `${shownNumber(residentMb)} MB`,
      ...[figure.cpuUs, figure.controlCpuUs].map(shownCpu),
    ];
  });
  const widths = HEAD.map((head, column) => Math.max(3, head.length, ...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const machine = `${cores.length} cores (${cores[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB of memory`;
  return [
    `${machine}, load ${(loadavg()[0] ?? 0).toFixed(1)}, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`,
    '',
    line(HEAD),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
  ].join('\n');
}
