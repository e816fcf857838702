import { type Figure, isReached } from './figures.js';
import type { Summary } from './summary.js';

const UNITS: Readonly<Record<Figure['unit'], string>> = {
  ratio: '',
  'per second': ' a second',
  ms: ' ms',
  MB: ' MB',
  'MB per minute': ' MB a minute',
  '%': ' %',
};

/** A number with the digits that its size needs. */
export function shownNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const shown = (value: number, { unit }: Figure) => `${shownNumber(value)}${UNITS[unit]}`;

/** The results in Markdown: what was measured, the aim, the result and the verdict. */
export function tableOf({ environment, date, isBrief, benches }: Summary): string {
  const { cpu, cores, memoryGb, node, postgres, project, commit } = environment;
  const figures = benches.flatMap((bench) => bench.figures);
  const verdicts = figures.map(isReached);
  const reached = verdicts.filter((verdict) => verdict === true).length;
  const judged = verdicts.filter((verdict) => verdict !== undefined).length;
  return [
    ...(isBrief ? ['This was a try with the smallest sizes. The figures mean nothing.', ''] : []),
    `Measured on ${date.slice(0, 10)} on ${cores} cores (${cpu.trim()}) with ${memoryGb} GB of memory:`,
    `Node ${node}, PostgreSQL ${postgres}, version ${project}${commit === undefined ? '' : ` (${commit})`}.`,
    `${reached} of ${judged} aims were reached.`,
    '',
    ...benches.flatMap((bench) => [...rowsOf(bench.bench, bench.figures), '']),
  ]
    .join('\n')
    .trimEnd();
}

function rowsOf(bench: string, figures: readonly Figure[]): string[] {
  const rows = figures.map((figure) => [
    named(figure),
    figure.control ?? '',
    figure.aim === undefined ? '' : `${figure.isAtMost ? '≤' : '≥'} ${shown(figure.aim, figure)}`,
    resultOf(figure),
    verdictOf(figure),
  ]);
  return aligned([[`\`${bench}\``, 'Control', 'Aim', 'Result', 'Verdict'], ...rows]);
}

/** Paths are code, because Markdown would read `{` and `_`. */
function named({ name }: Figure): string {
  return name.replace(/^(GET [^\s,]+)/, '`$1`');
}

function resultOf(figure: Figure): string {
  const { value, min, max, perSecond } = figure;
  const range = min === max ? '' : ` (${shownNumber(min)} to ${shownNumber(max)})`;
  const sides =
    perSecond === undefined ? '' : `; ${shownNumber(perSecond.ours)} of ${shownNumber(perSecond.control)} a second`;
  return `${shown(value, figure)}${range}${sides}`;
}

function verdictOf(figure: Figure): string {
  const verdict = isReached(figure);
  if (verdict === undefined) return '';
  return verdict ? 'reached' : `**missed by ${shown(Math.abs(figure.value - figure.aim!), figure)}**`;
}

/** A Markdown table as Prettier formats it. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(3, ...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [head, ...body] = rows;
  return [line(head!), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body.map(line)];
}
