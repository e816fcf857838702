import type { RepeatUnit, Timestamp } from '@banking/domain';
import { compareInstants, inMicroseconds, readInstant, writeInstant, type Instant } from './instant.js';

/** When an order runs: once at `startAt`, or from there on every `repeatValue` days, weeks or months. */
export interface Schedule {
  /**
   * The anchor: RFC 3339 with an offset. Every run has its time of day, to the last digit, at its offset; days and
   * months are counted on the calendar of that offset.
   */
  readonly startAt: string;
  readonly repeatUnit?: RepeatUnit | undefined;
  /** A positive whole number. */
  readonly repeatValue?: number | undefined;
  /** RFC 3339 with an offset, inclusive: a run at exactly this instant still takes place. */
  readonly stopAt?: string | undefined;
}

/** One place of a schedule. */
export interface Occurrence {
  /** 1 for `startAt`. A run that was missed keeps its number, so the numbers of those that took place may have gaps. */
  readonly sequence: number;
  readonly at: Timestamp;
}

/**
 * When the run of a number is due, in UTC; `undefined` where the schedule has ended before it, or the year would have
 * five digits.
 *
 * Computed from the anchor and the number alone, never from the run before: of a monthly schedule that begins on
 * 31 January the second run is on 28 or 29 February and the third on 31 March.
 */
export function occurrence(schedule: Schedule, sequence: number): Timestamp | undefined {
  if (!Number.isSafeInteger(sequence) || sequence < 1) throw new Error(`not the number of a run: ${sequence}`);
  const { startAt, repeatUnit, repeatValue = 1, stopAt } = schedule;
  if (repeatUnit === undefined && sequence > 1) return undefined;

  const at = later(readInstant(startAt), repeatUnit, (sequence - 1) * repeatValue);
  // `stopAt` comes from the database, which keeps microseconds; an anchor of an older order may have nine digits.
  if (stopAt !== undefined && compareInstants(inMicroseconds(at), inMicroseconds(readInstant(stopAt))) > 0) {
    return undefined;
  }
  return writeInstant(at);
}

/**
 * What is to run now, and what after it.
 *
 * After downtime a missed run happens once, not N times: `due` is the latest run not after `now`, and the ones between
 * it and `lastSequence` are skipped for good. Once `due` has run, asking again with its number finds nothing due and the
 * same `next`.
 *
 * @param lastSequence the number of the latest run that took place or was given up; 0 before the first
 * @param now by the clock of the database, which decides when money moves
 */
export function dueAndNext(
  schedule: Schedule,
  lastSequence: number,
  now: Timestamp,
): { readonly due?: Occurrence; readonly next?: Occurrence } {
  const latest = latestUpTo(schedule, lastSequence, readInstant(now));
  const due = latest > lastSequence ? place(schedule, latest) : undefined;
  const next = place(schedule, latest + 1);
  return { ...(due && { due }), ...(next && { next }) };
}

function place(schedule: Schedule, sequence: number): Occurrence | undefined {
  const at = occurrence(schedule, sequence);
  return at && { sequence, at };
}

/** The latest run not after an instant, or `from` where none after it is. Runs are in order, so steps may double and then halve. */
function latestUpTo(schedule: Schedule, from: number, instant: Instant): number {
  const isUpTo = (sequence: number) => {
    const at = occurrence(schedule, sequence);
    return at !== undefined && compareInstants(readInstant(at), instant) <= 0;
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

/** The same time of day some units later, on the calendar of the anchor's offset. */
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
