import { type Pair, type Spread, spreadOf } from './comparison.js';
import { type Growth, settledGrowthOf } from './growth.js';
import type { Measured } from './load.js';
import { type Comparison, comparedOf, type Result } from './request.js';
import { growthOf, type Residence } from './residence.js';

const round = (value: number, digits: number) => value.toLocaleString('en', { maximumFractionDigits: digits });
const ratio = ({ median, min, max }: Spread) => `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;

function side(name: string, measured: readonly Measured[]): string {
  const middle = (figure: (one: Measured) => number) => spreadOf(measured.map(figure)).median;
  const cpu = measured.every(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest !== undefined)
    ? `, ${round(
        middle(({ cpuMicrosPerRequest = 0 }) => cpuMicrosPerRequest),
        0,
      )} µs of CPU per request`
    : '';
  const [perSecond, p50, p99] = [
    middle((one) => one.perSecond),
    middle((one) => one.p50Ms),
    middle((one) => one.p99Ms),
  ];
  return `  ${name.padEnd(8)} ${round(perSecond, 0)} per second, p50 ${round(p50, 2)} ms, p99 ${round(p99, 2)} ms${cpu}`;
}

const verdict = (isReached: boolean, missedBy: string) => (isReached ? 'reached' : `missed by ${missedBy}`);

function comparedLine({ aim, ...comparison }: Comparison): string {
  const compared = comparedOf(comparison);
  if (comparison.compares === 'addedMs') return `  added    ${ratio(compared)} ms in the median`;
  const figures = `  ratio    ${ratio(compared)}`;
  if (aim === undefined) return figures;
  return comparison.compares === 'p50Ms'
    ? `${figures}, aim ≤ ${aim.toFixed(2)} times as long: ${verdict(compared.median <= aim, (compared.median - aim).toFixed(2))}`
    : `${figures}, aim ≥ ${aim.toFixed(2)}: ${verdict(compared.median >= aim, (aim - compared.median).toFixed(2))}`;
}

function comparisonLines(comparison: Comparison): string[] {
  const { name, control, perSecondAim, p99AimMs, pairs } = comparison;
  const all = (which: keyof Pair<Measured>) => pairs.map((pair) => pair[which]);
  return [
    `${name}`,
    comparedLine(comparison),
    ...(perSecondAim === undefined
      ? []
      : [rateLine(spreadOf(all('ours').map(({ perSecond }) => perSecond)), perSecondAim)]),
    ...(p99AimMs === undefined ? [] : [p99Line(spreadOf(all('ours').map(({ p99Ms }) => p99Ms)), p99AimMs)]),
    side('ours', all('ours')),
    `${side('control', all('control'))} (${control})`,
  ];
}

function rateLine({ median }: Spread, aim: number): string {
  return `  rate     ${round(median, 0)} per second, aim ≥ ${aim}: ${verdict(median >= aim, round(aim - median, 0))}`;
}

function p99Line(p99: Spread, aimMs: number): string {
  return `  p99      ${ratio(p99)} ms, aim ≤ ${aimMs} ms: ${verdict(p99.median <= aimMs, `${round(p99.median - aimMs, 1)} ms`)}`;
}

function residentLine(residentMb: number, aimMb: number | undefined): string {
  const most = `Resident memory under load: ${round(residentMb, 0)} MB maximum`;
  if (aimMb === undefined) return most;
  return `${most}, aim ≤ ${aimMb} MB: ${verdict(residentMb <= aimMb, `${round(residentMb - aimMb, 0)} MB`)}`;
}

function growthLines(growth: Growth): string[] {
  const { name, marks, aimMb } = growth;
  const { fromAsked, toAsked, grownMb, bytesEach } = settledGrowthOf(growth);
  const over = `from ${round(fromAsked, 0)} to ${round(toAsked, 0)}`;
  return [
    `${name}`,
    `  heap     grew by ${grownMb.toFixed(2)} MB ${over}, ${round(bytesEach, 1)} bytes per call, aim ≤ ${aimMb} MB: ${verdict(grownMb <= aimMb, `${(grownMb - aimMb).toFixed(2)} MB`)}`,
    ...marks.map(
      ({ asked, heapMb, residentMb }) =>
        `  ${round(asked, 0).padStart(8)} heap ${heapMb.toFixed(2)} MB, resident ${round(residentMb, 0)} MB`,
    ),
  ];
}

function residenceLines(residence: Residence): string[] {
  const { name, highestAimMb, slopeAimMbPerMinute: slopeAim } = residence;
  const { highestMb, slopeMbPerMinute: slope } = growthOf(residence);
  return [
    `${name}`,
    `  highest  ${round(highestMb, 0)} MB, aim ≤ ${highestAimMb} MB: ${verdict(highestMb <= highestAimMb, `${round(highestMb - highestAimMb, 0)} MB`)}`,
    `  slope    ${slope.toFixed(2)} MB per minute, aim ≤ ${slopeAim}: ${verdict(slope <= slopeAim, (slope - slopeAim).toFixed(2))}`,
  ];
}

/** The result as text: ratios first, because absolute figures depend on the machine. */
export function report({ comparisons, residentMb, residentAimMb, growths = [], residences = [] }: Result): string {
  return [
    ...comparisons.map((comparison) => comparisonLines(comparison).join('\n')),
    ...growths.map((growth) => growthLines(growth).join('\n')),
    ...residences.map((residence) => residenceLines(residence).join('\n')),
    ...(residentMb === undefined ? [] : [residentLine(residentMb, residentAimMb)]),
  ].join('\n\n');
}
