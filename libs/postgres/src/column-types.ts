import { types } from 'pg';

/** Reads one value of a column from the text the server sent. */
export type ColumnReader = (text: string) => unknown;

/** Type ids of PostgreSQL itself (pg_type.dat); they never change. */
const INT8 = 20;
const INT8_LIST = 1016;
const TEXT_LIST = 1009;
/** Dates, times, intervals and numeric keep their own spelling: a Date has no microseconds, a number not enough digits. */
const AS_WRITTEN = [1082, 1083, 1114, 1184, 1186, 1266, 1700];
const LISTS_AS_WRITTEN = [1115, 1182, 1183, 1185, 1187, 1231, 1270];

/** `pg` accepts every type id, although its types list only some. */
const readerOf = types.getTypeParser as (oid: number) => ColumnReader;

const asWritten: ColumnReader = (text) => text;
const listAsWritten = readerOf(TEXT_LIST) as (text: string) => (string | null)[];
const listOfBigint: ColumnReader = (text) =>
  listAsWritten(text).map((entry) => (entry === null ? null : BigInt(entry)));

const readers = new Map<number, ColumnReader>([
  [INT8, BigInt],
  [INT8_LIST, listOfBigint],
  ...AS_WRITTEN.map((oid): [number, ColumnReader] => [oid, asWritten]),
  ...LISTS_AS_WRITTEN.map((oid): [number, ColumnReader] => [oid, listAsWritten]),
]);

/**
 * How columns are read: int8 as `bigint`, numeric, dates, times and intervals as the server wrote them, json parsed,
 * everything else as `pg` reads it. Text stays text, so `to_json(…)::text` hands JSON through unread.
 */
export function columnReader(oid: number): ColumnReader {
  return readers.get(oid) ?? readerOf(oid);
}

/** The same for a `pg` client outside of the pool. */
export const columnTypes = {
  getTypeParser: ((oid: number, format?: string) =>
    format === 'binary' ? types.getTypeParser(oid, 'binary') : columnReader(oid)) as typeof types.getTypeParser,
};
