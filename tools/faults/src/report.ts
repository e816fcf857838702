import type { Row, ScenarioResult } from './verdict.js';

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

const SHOWN_MAX = 10;

/** What follows the table of a failed run: violations and errors of each scenario, its log, and the command that repeats the run. */
export function failureText(failed: readonly ScenarioResult[], command: string): string {
  const scenarios = failed.flatMap(({ scenario, violations, error, logPath }) => [
    `${scenario}: ${violations.length === 1 ? 'one violation' : `${violations.length} violations`}; log: ${logPath}`,
    ...(error === undefined ? [] : [`  ended early: ${error}`]),
    ...violations.slice(0, SHOWN_MAX).map(({ check, detail }) => `  ${check}: ${detail}`),
  ]);
  return [...scenarios, `Replay: ${command}`].join('\n');
}
