import type { RepeatUnit, Timestamp } from '@banking/domain';
import { type Finding, rangeKey, rangesOf, type RangeOptions } from '@banking/ledger';
import { bind, statement, type Database } from '@banking/postgres';
import { readInstant } from './instant.js';
import { occurrence } from './recurrence.js';

export const RUN_TIME_CHECK = 'every execution of a schedule is at the time that its number has in it';

const EXECUTIONS = ['times of executions', rangeKey('execution')] as const;

interface RunTime {
  readonly id: bigint;
  readonly sequence: number;
  readonly scheduled_at: Timestamp;
  readonly anchor: string;
  readonly start_at: Timestamp;
  readonly stop_at: Timestamp | null;
  readonly repeat_unit: RepeatUnit | null;
  readonly repeat_value: number | null;
}

const RUN_TIMES = statement<RunTime>(
  'verify_run_times',
  `select e.id, e.sequence, rfc3339(e.scheduled_at) as scheduled_at, o.anchor, rfc3339(o.start_at) as start_at,
          rfc3339(o.stop_at) as stop_at, o.repeat_unit, o.repeat_value
   from execution e join customer_order o on o.workspace_id = $1 and o.id = e.order_id
   where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and o.anchor is not null`,
);

/** Computes the time of every run again from the anchor of its order, which the database cannot. In a sandbox as elsewhere. */
export async function verifyRunTimes(
  database: Database,
  workspaceId: number,
  options: RangeOptions,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const { after, upto } of rangesOf(database, workspaceId, EXECUTIONS, options)) {
    const ask = [bind(RUN_TIMES, workspaceId, after, upto)] as const;
    const [runs] = await database.flight({ workspaces: [workspaceId] }, ask);
    for (const run of runs) {
      if (isOnTime(run)) continue;
      const detail = `execution ${run.id} is number ${run.sequence} of its order and is not at that time of its schedule`;
      findings.push({ check: RUN_TIME_CHECK, workspaceId, detail });
    }
  }
  return findings;
}

function isOnTime({ sequence, scheduled_at, anchor, start_at, stop_at, repeat_unit, repeat_value }: RunTime): boolean {
  const schedule = { startAt: anchor, stopAt: stop_at ?? undefined, repeatUnit: repeat_unit ?? undefined, repeatValue: repeat_value ?? undefined }; // prettier-ignore
  const at = occurrence(schedule, sequence);
  return at !== undefined && isSameTime(at, scheduled_at) && isSameTime(anchor, start_at);
}

/** The database keeps microseconds: a digit behind them is rounded. */
function isSameTime(exact: string, stored: Timestamp): boolean {
  const apart = microseconds(exact) - microseconds(stored);
  return -1n <= apart && apart <= 1n;
}

function microseconds(text: string): bigint {
  const { seconds, fraction } = readInstant(text);
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}
