import { parseInstant, type Timestamp } from '@banking/domain';

const FRACTION_DIGITS = 6;
/** The length of a date and a time without fraction. */
const SECONDS_END = 19;

/**
 * A time as PostgreSQL writes it in our sessions, which have the time zone UTC: `2026-11-21 09:30:00.5+00`, in JSON
 * `2026-11-21T09:30:00.5+00:00`; or a time in UTC as RFC 3339. It becomes RFC 3339 with microseconds, as the function `rfc3339` of the
 * database writes it.
 */
export function timestampOf(text: string): Timestamp {
  const end = text.endsWith('Z') ? text.length - 1 : text.indexOf('+', SECONDS_END);
  const fraction = text.slice(SECONDS_END + 1, end).padEnd(FRACTION_DIGITS, '0');
  return `${text.slice(0, 10)}T${text.slice(11, SECONDS_END)}.${fraction}Z` as Timestamp;
}

/** An RFC 3339 time in UTC with microseconds, as the database returns it. Further digits are cut. */
export function inUtc(text: string): Timestamp {
  const { seconds, fraction } = parseInstant(text);
  const whole = new Date(seconds * 1000).toISOString().slice(0, SECONDS_END);
  return `${whole}.${fraction.slice(0, FRACTION_DIGITS).padEnd(FRACTION_DIGITS, '0')}Z` as Timestamp;
}
