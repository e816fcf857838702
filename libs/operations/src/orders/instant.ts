import { isInstant, isTimestamp, type Timestamp } from '@banking/domain';

/** A parsed instant that keeps all digits and its offset. */
export interface Instant {
  /** Whole seconds since 1970-01-01T00:00:00Z. */
  readonly seconds: number;
  /** The digits after the point, at most nine. */
  readonly fraction: string;
  /** The offset from UTC in seconds, positive to the east. */
  readonly offsetSeconds: number;
}

/** @throws Error for anything but RFC 3339 with an offset on an existing day; check the input of a caller with `isInstant` first */
export function readInstant(text: string): Instant {
  const [, local, fraction = '', sign, hours, minutes] =
    /^([^.]{19})(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/.exec(text) ?? [];
  if (local === undefined || !isInstant(text)) throw new Error(`not an instant: ${text}`);
  const offset = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60;
  const offsetSeconds = sign === '-' ? -offset : offset;
  return { seconds: Date.parse(`${local}Z`) / 1000 - offsetSeconds, fraction, offsetSeconds };
}

/** The instant in RFC 3339 and UTC, or `undefined` if its year does not have four digits. */
export function writeInstant({ seconds, fraction }: Instant): Timestamp | undefined {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.valueOf())) return undefined;
  const text = `${date.toISOString().slice(0, -'.000Z'.length)}.${fraction.padEnd(3, '0')}Z`;
  return isTimestamp(text) ? text : undefined;
}

/** Compares instants across offsets. Negative if the first is earlier. */
export function compareInstants(left: Instant, right: Instant): number {
  if (left.seconds !== right.seconds) return left.seconds - right.seconds;
  return Number(left.fraction.padEnd(9, '0')) - Number(right.fraction.padEnd(9, '0'));
}

/** An instant in whole microseconds, as PostgreSQL stores it. Further digits are cut off. */
export const inMicroseconds = (instant: Instant): Instant => ({ ...instant, fraction: instant.fraction.slice(0, 6) });

/** Cuts the text of an instant to whole microseconds. */
export const cutToMicroseconds = (text: string): string => text.replace(/(\.[0-9]{6})[0-9]+/, '$1');
