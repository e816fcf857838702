import {
  compareInstants,
  type Instant,
  isInstant,
  parseInstant,
  type PlaceOrderInput,
  type RefusalDetail,
  type Timestamp,
} from '@banking/domain';
import type { Schedule } from './next-run.js';

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
