import { RELEASE } from '@banking/deployment';
import { describeProcesses, olderThan, type MigrationPlan } from '@banking/postgres';
import { print, printJson, printTable } from './print.js';

type Pending = MigrationPlan['pending'][number];

/** Prints what a migration would do, and whether running processes may go on. */
export function printPlan(plan: MigrationPlan, asJson?: boolean): void {
  if (asJson) return printJson(planAsJson(plan));
  if (plan.pending.length === 0) return print(`Release ${RELEASE} lacks nothing in this database.`);
  const rows = plan.pending.map((one) => [one.name, phaseOf(one), effectOf(one, plan)]);
  printTable(['Migration', 'Phase', 'Running processes'], rows, '');
  if (plan.connected.length > 0) print(`\nConnected: ${describeProcesses(plan.connected)}.`);
}

/** Prints the names of the migrations that were applied. */
export function printApplied(applied: readonly string[]): void {
  if (applied.length === 0) return print('The schema is up to date.');
  print(`Applied ${applied.length === 1 ? 'one migration' : `${applied.length} migrations`}:`);
  for (const name of applied) print(`  ${name}`);
}

export function planAsJson(plan: MigrationPlan): object {
  return {
    release: RELEASE,
    pending: plan.pending.map(({ name, phase }) => ({ name, phase: phase?.name ?? 'baseline', since: sinceOf(phase) })),
    connected: plan.connected,
  };
}

const sinceOf = (phase: Pending['phase']) => (phase?.name === 'contract' ? phase.since : undefined);

const phaseOf = ({ phase }: Pending): string => phase?.name ?? 'baseline';

function effectOf({ phase }: Pending, { isNew, connected }: MigrationPlan): string {
  if (isNew) return 'none: the database is new';
  if (phase === undefined) return 'stop every process first';
  if (phase.name === 'expand') return 'go on';
  const older = olderThan(connected, phase.since);
  if (older.length > 0) return `refused: stop ${describeProcesses(older)}`;
  return `go on from release ${phase.since}`;
}
