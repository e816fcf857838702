import type { Timestamp } from '@banking/domain';

/** Since 1970, of a time in UTC with microseconds, as the database returns it. */
export const microsecondsOf = (at: Timestamp): number =>
  Date.parse(`${at.slice(0, 23)}Z`) * 1_000 + Number(at.slice(23, 26));

export function timestampAt(microseconds: number): Timestamp {
  const text = new Date(Math.floor(microseconds / 1_000)).toISOString();
  return `${text.slice(0, 23)}${String(microseconds % 1_000).padStart(3, '0')}Z` as Timestamp;
}
