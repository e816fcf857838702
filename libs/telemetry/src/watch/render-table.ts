import type { Metric, Where } from '../metrics/metric.js';

const PLACES: Readonly<Record<Where, string>> = {
  api: 'service, gateway',
  books: 'service, worker',
  work: 'worker, `WORKER=on`',
  gateway: 'gateway',
  all: 'every process',
};

const HEAD = ['Metric', 'Type', 'Labels', 'In', 'Meaning'];

/** The tables of the manual, one for each group, as Prettier formats them. */
export function renderTables(metrics: Readonly<Record<string, Metric>>): string {
  const rows = Object.entries(metrics);
  const groups = [...new Set(rows.map(([, { group }]) => group))];
  return groups
    .map((group) => `### ${group} metrics\n\n${tableOf(rows.filter(([, metric]) => metric.group === group))}`)
    .join('\n\n');
}

function tableOf(rows: readonly (readonly [string, Metric])[]): string {
  const cells = rows.map(([name, { type, labels, where, help }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    PLACES[where],
    help,
  ]);
  const widths = HEAD.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(HEAD), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...cells.map(line)].join('\n');
}
