declare const kind: unique symbol;

/**
 * An instant as it travels: RFC 3339 in UTC with `Z` and three to nine fractional digits,
 * `2026-11-21T09:30:00.000Z`.
 *
 * It stays text from end to end. A `Date` has milliseconds only and would drop the digits that PostgreSQL or another institution
 * wrote. Two timestamps compare as text only if they have the same number of digits.
 */
export type Timestamp = string & { readonly [kind]: 'timestamp' };

const SHAPE = /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.[0-9]{3,9}Z$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Whether a text is a {@link Timestamp}: the spelling above, on a day that exists. A leap second is not accepted. */
export function isTimestamp(text: string): text is Timestamp {
  const parts = SHAPE.exec(text)?.slice(1).map(Number);
  if (parts === undefined) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  return day >= 1 && day <= daysIn(year, month) && hour <= 23 && minute <= 59 && second <= 59;
}

const INSTANT =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])$/;

/**
 * Whether a text is an instant: RFC 3339 with an offset, `2026-11-21T09:30:00Z` or `…T10:30:00+01:00`, on a day that exists. A text
 * without an offset is ambiguous and refused. So is the year 0, which PostgreSQL does not have.
 */
export const isInstant = (text: string): boolean => partsOf(text) !== undefined;

/** The parts of an instant: its local time, its fraction and its offset. */
function partsOf(text: string): readonly [string, string, string] | undefined {
  const [, local, fraction = '', offset] = INSTANT.exec(text) ?? [];
  if (local === undefined || offset === undefined || local.startsWith('0000')) return undefined;
  return isTimestamp(`${local}.000Z`) ? [local, fraction, offset] : undefined;
}

/** A parsed instant that keeps all digits and its offset. */
export interface Instant {
  /** Whole seconds since 1970-01-01T00:00:00Z. */
  readonly seconds: number;
  /** The digits after the point, at most nine. */
  readonly fraction: string;
  /** The offset from UTC in seconds, positive to the east. */
  readonly offsetSeconds: number;
}

/** @throws Error unless the text is an instant; check the input of a caller with {@link isInstant} first */
export function parseInstant(text: string): Instant {
  const parts = partsOf(text);
  if (parts === undefined) throw new Error(`not an instant: ${text}`);
  const [local, fraction, offset] = parts;
  const seconds = Date.parse(local + offset) / 1000;
  return { seconds, fraction, offsetSeconds: offset === 'Z' ? 0 : Date.parse(`${local}Z`) / 1000 - seconds };
}

/** Compares instants across offsets. Negative if the first is earlier. */
export function compareInstants(left: Instant, right: Instant): number {
  return left.seconds - right.seconds || Number(`0.${left.fraction}`) - Number(`0.${right.fraction}`);
}

/** Whether a text is a day of the calendar, `2026-11-21`, from the year 1 on. */
export function isDay(text: string): boolean {
  return isInstant(`${text}T00:00:00Z`);
}

/** Days of a month of the Gregorian calendar; none for a month that does not exist. */
function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
}
