import type { Row } from './verdict.js';

const HEAD = ['Promise', 'Faults', 'Operations', 'Violations', 'Verdict', 'Figures'];
const RIGHT = [1, 2, 3];

/** The table of a run as text. */
export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ promise, faults, operations, violations, verdict, note }) => [
    `${promise.id} ${promise.title}`,
    ...[faults, operations, violations.length].map(String),
    ...[verdict, note],
  ]);
  const all = [HEAD, ...cells];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) =>
        RIGHT.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  return [lines[0], widths.map((width) => '-'.repeat(Math.min(width, 60))).join('  '), ...lines.slice(1)].join('\n');
}

/** The end of a run with a violation: each one, the logs, and the command that repeats it. */
export function failureText(rows: readonly Row[], logs: readonly string[], command: string): string {
  const shown = rows.flatMap(({ promise, violations }) =>
    violations.slice(0, 10).map(({ check, detail }) => `${promise.id} ${check}: ${detail}`),
  );
  return [
    'Violations:',
    ...shown.map((line) => `  ${line}`),
    'Logs:',
    ...logs.map((path) => `  ${path}`),
    `Replay: ${command}`,
  ].join('\n');
}
