import type { RecoveryResult } from './recovery-run.js';

const HEAD = [
  'Recovery',
  'Transfers',
  'Acknowledged',
  'Lost orders',
  'Lost payments',
  'Taken over',
  'Deviations',
  'Seconds',
];

/** The table of a run as text. */
export function recoveryTable(results: readonly RecoveryResult[]): string {
  const cells = results.map(({ kind, seconds, verifySeconds, violations, ...counts }) => [
    kind.name,
    ...[counts.transfers, counts.acknowledged, counts.lostOrders, counts.lostPayments, counts.takenOver].map(String),
    String(violations.length),
    Object.entries({ ...seconds, 'banking verify': verifySeconds })
      .map(([step, time]) => `${step} ${time.toFixed(1)}`)
      .join(', '),
  ]);
  const all = [HEAD, ...cells];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const isText = (column: number) => column === 0 || column === HEAD.length - 1;
  const lines = all.map((row) =>
    row
      .map((cell, column) => (isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  return [lines[0], widths.map((width) => '-'.repeat(Math.min(width, 60))).join('  '), ...lines.slice(1)].join('\n');
}
