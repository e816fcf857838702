import type { BankDialect } from '../rail-config.js';

type Calendar = Pick<BankDialect, 'cutOff' | 'holidays'>;

const DAY_MS = 24 * 60 * 60_000;

/** How long before the cut-off a file is closed at once, so that it is still executed on the day. */
const CUT_OFF_LEAD_MS = 60_000;

/** Closing days of T2 that are the same every year: month and day. Source: ECB, calendar of TARGET closing days, 2000-12-14. */
const TARGET_FIXED: ReadonlySet<string> = new Set(['01-01', '05-01', '12-25', '12-26']);

/**
 * Whether banks execute payments of a currency on a day: not on Saturday and Sunday, in EUR not on the closing days of T2, and not on the
 * holidays of the configuration.
 *
 * @param day ISO 8601
 */
export function isBankDay(day: string, currency: string, holidays: BankDialect['holidays']): boolean {
  const weekday = new Date(day).getUTCDay();
  if (weekday === 0 || weekday === 6) return false;
  if (currency === 'EUR' && isTargetClosingDay(day)) return false;
  return !(Object.hasOwn(holidays, currency) && holidays[currency]?.includes(day));
}

/** Besides the fixed days, Good Friday and Easter Monday. */
function isTargetClosingDay(day: string): boolean {
  if (TARGET_FIXED.has(day.slice(5))) return true;
  const easter = easterOf(Number(day.slice(0, 4)));
  return day === addDays(easter, -2) || day === addDays(easter, 1);
}

/** Easter Sunday of the Gregorian calendar, by the algorithm of Meeus, Jones and Butcher. */
function easterOf(year: number): string {
  const golden = year % 19;
  const century = Math.floor(year / 100);
  const rest = year % 100;
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const moon = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30;
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(rest / 4) - moon - (rest % 4)) % 7;
  const shift = Math.floor((golden + 11 * moon + 22 * weekday) / 451);
  const days = moon + weekday - 7 * shift + 114;
  return new Date(Date.UTC(year, Math.floor(days / 31) - 1, (days % 31) + 1)).toISOString().slice(0, 10);
}

const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

/**
 * The earliest day on which a bank still executes a file that it has at an instant, whether it is a bank day or not.
 *
 * @returns ISO 8601 date
 */
export function earliestDay(atMs: number, { cutOff }: Pick<Calendar, 'cutOff'>): string {
  const local = localTime(atMs, cutOff.timeZone);
  return local.time < cutOff.time ? local.day : addDays(local.day, 1);
}

/**
 * The day on which a file that is written at an instant asks to be executed: the day itself if it is a bank day and the cut-off has not
 * come, or the next bank day.
 *
 * @returns ISO 8601 date
 */
export function executionDay(atMs: number, currency: string, calendar: Calendar): string {
  let day = earliestDay(atMs, calendar);
  while (!isBankDay(day, currency, calendar.holidays)) day = addDays(day, 1);
  return day;
}

/** Whether the cut-off of the day comes within a minute. */
export function isCutOffNear(atMs: number, { cutOff }: Pick<Calendar, 'cutOff'>): boolean {
  const now = localTime(atMs, cutOff.timeZone);
  const soon = localTime(atMs + CUT_OFF_LEAD_MS, cutOff.timeZone);
  return now.time < cutOff.time && (soon.time >= cutOff.time || soon.day !== now.day);
}

/** `CreDtTm` of a message. */
export function creationTimeOf(atMs: number, { cutOff, creationTime }: Pick<BankDialect, 'cutOff' | 'creationTime'>) {
  if (creationTime === 'utc') return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
  const { day, time, seconds } = localTime(atMs, cutOff.timeZone);
  const local = `${day}T${time}:${seconds}`;
  return creationTime === 'local'
    ? local
    : `${local}${offsetOf(Date.parse(`${local}Z`) - Math.floor(atMs / 1_000) * 1_000)}`;
}

function offsetOf(ms: number): string {
  const minutes = Math.abs(Math.round(ms / 60_000));
  const digits = (value: number) => value.toString().padStart(2, '0');
  return `${ms < 0 ? '-' : '+'}${digits(Math.floor(minutes / 60))}:${digits(minutes % 60)}`;
}

interface LocalTime {
  readonly day: string;
  /** `hh:mm`. */
  readonly time: string;
  readonly seconds: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(atMs: number, timeZone: string): LocalTime {
  let format = formats.get(timeZone);
  if (!format) {
    // The locale of Sweden writes dates and times as ISO 8601 does.
    format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' });
    formats.set(timeZone, format);
  }
  const text = format.format(atMs);
  return { day: text.slice(0, 10), time: text.slice(11, 16), seconds: text.slice(17, 19) };
}

/** Whether the IANA database has a time zone. */
export function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).format(0) !== '';
  } catch {
    return false;
  }
}
