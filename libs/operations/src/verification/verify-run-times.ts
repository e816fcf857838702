import { parseInstant, type RepeatUnit, type Timestamp } from '@banking/domain';
import { runTime } from '../orders/next-run.js';
import { sqlStatement } from '@banking/postgres';
import { computed, type RangeCheck } from './verify-ranges.js';

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

const RUN_TIMES = sqlStatement<RunTime>(
  'verify_run_times',
  `select e.id, e.sequence, rfc3339(e.scheduled_at) as scheduled_at, o.anchor, rfc3339(o.start_at) as start_at,
          rfc3339(o.stop_at) as stop_at, o.repeat_unit, o.repeat_value
   from execution e join customer_order o on o.workspace_id = $1 and o.id = e.order_id
   where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and o.anchor is not null`,
);

/** The time of each run, computed from the anchor of its order. The database cannot compute it. */
export const RUN_TIMES_CHECK: RangeCheck = {
  check: 'every execution of a schedule is at the time that its number has in it',
  over: {
    execution: computed(RUN_TIMES, (run) =>
      isOnTime(run)
        ? undefined
        : `execution ${run.id} is number ${run.sequence} of its order and is not at that time of its schedule`,
    ),
  },
};

function isOnTime({ sequence, scheduled_at, anchor, start_at, stop_at, repeat_unit, repeat_value }: RunTime): boolean {
  const schedule = {
    startAt: anchor,
    stopAt: stop_at ?? undefined,
    repeatUnit: repeat_unit ?? undefined,
    repeatValue: repeat_value ?? undefined,
  };
  const at = runTime(schedule, sequence);
  return at !== undefined && isSameTime(at, scheduled_at) && isSameTime(anchor, start_at);
}

/** The database stores microseconds and rounds further digits. */
function isSameTime(exact: string, stored: Timestamp): boolean {
  const difference = microseconds(exact) - microseconds(stored);
  return -1n <= difference && difference <= 1n;
}

function microseconds(text: string): bigint {
  const { seconds, fraction } = parseInstant(text);
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}
