import { isInstant, isTimestamp, type Timestamp } from '@banking/domain';

/** An instant taken apart so that it can be counted with, without losing a digit or its offset. */
export interface Instant {
  /** Whole seconds since 1970-01-01T00:00:00Z. */
  readonly seconds: number;
  /** The digits after the point as they were written, at most nine. */
  readonly fraction: string;
  /** How far the clock it was written by is ahead of UTC. */
  readonly offsetSeconds: number;
}

/** @throws Error for anything but RFC 3339 with an offset, on a day that exists: whoever takes it from a caller looks first */
export function readInstant(text: string): Instant {
  const [, local, fraction = '', sign, hours, minutes] =
    /^([^.]{19})(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/.exec(text) ?? [];
  if (local === undefined || !isInstant(text)) throw new Error(`not an instant: ${text}`);
  const offset = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60;
  const offsetSeconds = sign === '-' ? -offset : offset;
  return { seconds: Date.parse(`${local}Z`) / 1000 - offsetSeconds, fraction, offsetSeconds };
}

/** The instant as it travels, in UTC; `undefined` where its year has no four digits. */
export function writeInstant({ seconds, fraction }: Instant): Timestamp | undefined {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.valueOf())) return undefined;
  const text = `${date.toISOString().slice(0, -'.000Z'.length)}.${fraction.padEnd(3, '0')}Z`;
  return isTimestamp(text) ? text : undefined;
}

/** Below zero where the first is earlier, whatever offsets they were written at. */
export function compareInstants(left: Instant, right: Instant): number {
  if (left.seconds !== right.seconds) return left.seconds - right.seconds;
  return Number(left.fraction.padEnd(9, '0')) - Number(right.fraction.padEnd(9, '0'));
}

/** An instant as PostgreSQL keeps it, in whole microseconds; what is behind them is cut off. */
export const inMicroseconds = (instant: Instant): Instant => ({ ...instant, fraction: instant.fraction.slice(0, 6) });

/** The same of an instant as it is written. */
export const cutToMicroseconds = (text: string): string => text.replace(/(\.[0-9]{6})[0-9]+/, '$1');
