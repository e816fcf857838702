import {
  compareInstants,
  type Instant,
  isInstant,
  isTimestamp,
  parseInstant,
  type PlaceOrderInput,
  type RefusalDetail,
  type RepeatUnit,
  type Timestamp,
} from '@banking/domain';

/** The kind of work that carries out a run of an order. */
export const EXECUTION = 'execution';

/** The schedule of an order request: at once, once at a given time, or repeatedly. */
export type ScheduleInput = Pick<PlaceOrderInput, 'type' | keyof Schedule>;

type Field = keyof Schedule;

/** The fields of each type: true if required, false if optional. */
const FIELDS_OF_TYPE: Readonly<Record<ScheduleInput['type'], Readonly<Partial<Record<Field, boolean>>>>> = {
  instant: {},
  scheduled: { startAt: true },
  recurring: { startAt: true, repeatUnit: true, repeatValue: true, stopAt: false },
};

const FIELDS = ['startAt', 'repeatUnit', 'repeatValue', 'stopAt'] as const satisfies readonly Field[];
const REPEAT_VALUE_MAX = 366;

/** A limit against mistyped years. The year of every run has four digits then. */
const AHEAD_MAX_YEARS = 100;

/**
 * The faults of an order's schedule by field: none if it is valid. A valid schedule has at least one run, at `startAt`, because
 * `stopAt` is after it.
 *
 * @param now by the clock of the database; `startAt` must be after it
 */
export function scheduleFaults(input: ScheduleInput, now: Timestamp): readonly RefusalDetail[] {
  const misplaced = FIELDS.flatMap((field) => misplacedField(input, field));
  if (misplaced.length > 0) return misplaced;

  const { startAt, repeatValue, stopAt } = input;
  const current = parseInstant(now);
  const faults = [...timeFaults('startAt', startAt, current), ...timeFaults('stopAt', stopAt, current)];
  if (repeatValue !== undefined && !isRepeatValue(repeatValue)) {
    faults.push(fault('repeatValue', 'out_of_range', `must be a whole number from 1 to ${REPEAT_VALUE_MAX}`));
  }
  if (faults.length === 0 && startAt !== undefined && stopAt !== undefined && !isAfter(stopAt, parseInstant(startAt))) {
    faults.push(fault('stopAt', 'before_start', 'must be after startAt'));
  }
  return faults;
}

function misplacedField(input: ScheduleInput, field: Field): RefusalDetail[] {
  const isRequired = FIELDS_OF_TYPE[input.type][field];
  if (input[field] === undefined) {
    return isRequired ? [fault(field, 'required', `is required where type is ${input.type}`)] : [];
  }
  return isRequired === undefined ? [fault(field, 'not_taken', `must be left out where type is ${input.type}`)] : [];
}

function timeFaults(field: 'startAt' | 'stopAt', text: string | undefined, now: Instant): RefusalDetail[] {
  if (text === undefined) return [];
  if (!isInstant(text)) {
    return [fault(field, 'timestamp_invalid', 'must be RFC 3339 with an offset, such as 2026-11-21T09:30:00Z')];
  }
  if (!isAfter(text, now)) return [fault(field, 'past', 'must be in the future')];
  if (!isAfter(text, yearsAfter(now, AHEAD_MAX_YEARS))) return [];
  return [fault(field, 'too_far_ahead', `must be at most ${AHEAD_MAX_YEARS} years ahead`)];
}

function yearsAfter(instant: Instant, years: number): Instant {
  const date = new Date(instant.seconds * 1000);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return { ...instant, seconds: date.valueOf() / 1000 };
}

const isAfter = (text: string, instant: Instant) => compareInstants(parseInstant(text), instant) > 0;
const isRepeatValue = (value: number) => Number.isInteger(value) && value >= 1 && value <= REPEAT_VALUE_MAX;

const fault = (field: Field, reason: string, problem: string): RefusalDetail => ({
  path: `/${field}`,
  reason,
  message: `${field} ${problem}.`,
});

/** When an order runs: once at `startAt`, or from `startAt` on every `repeatValue` days, weeks or months. */
export interface Schedule {
  /**
   * The anchor: RFC 3339 with an offset. Every run has the same time of day at the same offset, to the last digit. Days and
   * months are counted on the calendar of that offset.
   */
  readonly startAt: string;
  readonly repeatUnit?: RepeatUnit | undefined;
  /** A positive whole number. */
  readonly repeatValue?: number | undefined;
  /** RFC 3339 with an offset, inclusive: a run at exactly this instant still takes place. */
  readonly stopAt?: string | undefined;
}

/** One run of a schedule. */
export interface ScheduledRun {
  /** 1 for `startAt`. A missed run keeps its number, so the numbers of the runs that took place may have gaps. */
  readonly sequence: number;
  readonly at: Timestamp;
}

/**
 * The time of a run in UTC, or `undefined` if the schedule ends before it or its year has five digits.
 *
 * The time follows from the anchor and the number alone, not from the run before. A monthly schedule from 31 January on has its
 * second run on 28 or 29 February and its third on 31 March.
 */
export function runTime(schedule: Schedule, sequence: number): Timestamp | undefined {
  if (!Number.isSafeInteger(sequence) || sequence < 1) throw new Error(`not the number of a run: ${sequence}`);
  const { startAt, repeatUnit, repeatValue = 1, stopAt } = schedule;
  if (repeatUnit === undefined && sequence > 1) return undefined;

  const at = later(parseInstant(startAt), repeatUnit, (sequence - 1) * repeatValue);
  // `stopAt` has microseconds, whatever the anchor has.
  if (stopAt !== undefined && compareInstants(inMicroseconds(at), inMicroseconds(parseInstant(stopAt))) > 0) {
    return undefined;
  }
  return toTimestamp(at);
}

/**
 * The run that is due now and the run after it.
 *
 * After downtime only the latest missed run takes place: `due` is the latest run not after `now`, and the runs between it and
 * `lastSequence` are skipped. After `due` has run, a call with its number returns no `due` and the same `next`.
 *
 * @param lastSequence the number of the latest run that took place or was skipped; 0 before the first
 * @param now by the clock of the database, which decides when money moves
 */
export function dueAndNextRun(
  schedule: Schedule,
  lastSequence: number,
  now: Timestamp,
): { readonly due?: ScheduledRun; readonly next?: ScheduledRun } {
  const latest = latestUpTo(schedule, lastSequence, parseInstant(now));
  const due = latest > lastSequence ? runOf(schedule, latest) : undefined;
  const next = runOf(schedule, latest + 1);
  return { ...(due && { due }), ...(next && { next }) };
}

function runOf(schedule: Schedule, sequence: number): ScheduledRun | undefined {
  const at = runTime(schedule, sequence);
  return at && { sequence, at };
}

/** The number of the latest run not after an instant, at least `from`. Runs are in order of time, so steps double and then halve. */
function latestUpTo(schedule: Schedule, from: number, instant: Instant): number {
  const isUpTo = (sequence: number) => {
    const at = runTime(schedule, sequence);
    return at !== undefined && compareInstants(parseInstant(at), instant) <= 0;
  };
  let reached = from;
  let step = 1;
  while (isUpTo(reached + step)) {
    reached += step;
    step *= 2;
  }
  while (step > 1) {
    step /= 2;
    if (isUpTo(reached + step)) reached += step;
  }
  return reached;
}

/** The same time of day some units later, on the calendar of the anchor's offset. A day the month lacks becomes its last day. */
function later(anchor: Instant, unit: RepeatUnit | undefined, units: number): Instant {
  const day = new Date((anchor.seconds + anchor.offsetSeconds) * 1000);
  const anchorDay = day.getUTCDate();
  if (unit === 'monthly') {
    day.setUTCDate(1);
    day.setUTCMonth(day.getUTCMonth() + units);
    day.setUTCDate(Math.min(anchorDay, lastDayOfMonth(day)));
  } else {
    day.setUTCDate(anchorDay + units * (unit === 'weekly' ? 7 : 1));
  }
  return { ...anchor, seconds: day.valueOf() / 1000 - anchor.offsetSeconds };
}

function lastDayOfMonth(of: Date): number {
  const day = new Date(of);
  day.setUTCMonth(day.getUTCMonth() + 1, 0);
  return day.getUTCDate();
}

/** An instant in whole microseconds, as PostgreSQL stores it. Further digits are cut off. */
const inMicroseconds = (instant: Instant): Instant => ({ ...instant, fraction: instant.fraction.slice(0, 6) });

/** The instant in RFC 3339 and UTC, or `undefined` if its year does not have four digits. */
function toTimestamp({ seconds, fraction }: Instant): Timestamp | undefined {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.valueOf())) return undefined;
  const text = `${date.toISOString().slice(0, -'.000Z'.length)}.${fraction.padEnd(3, '0')}Z`;
  return isTimestamp(text) ? text : undefined;
}
