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

/** A parameter as it is sent: text, bytes, or null. */
type WireValue = string | Buffer | null;

/**
 * Writes a value the way PostgreSQL reads it.
 *
 * Runs before anything is sent, so that an invalid value does not leave half a message on the connection.
 *
 * @throws Error for a function, a symbol or an invalid Date. @throws TypeError for a value that JSON cannot express, bigint included.
 */
function encodeParameter(value: unknown): WireValue {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      return encodeObject(value);
    default:
      throw new Error(`a ${typeof value} cannot be a parameter`);
  }
}

function encodeObject(value: object): WireValue {
  if (value instanceof Date) return encodeDate(value);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return `{${value.map(encodeElement).join(',')}}`;
  return JSON.stringify(value);
}

/** Throws a RangeError for an invalid Date. */
function encodeDate(value: Date): string {
  return value.toISOString();
}

function encodeElement(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `{${value.map(encodeElement).join(',')}}`;
  const text = encodeParameter(value);
  if (text === null) return 'NULL';
  return typeof text === 'string' ? quoted(text) : `"\\\\x${text.toString('hex')}"`;
}

/** What JSON escapes otherwise than with a backslash before the character. */
const NOT_AS_JSON = /[\p{Cc}\p{Surrogate}]/u;

/** A text in quotes, with a backslash before each quote and backslash. That is mostly its JSON, which is written in half the time. */
const quoted = (text: string): string =>
  NOT_AS_JSON.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(text);

/** A value of `bytea`, of hexadecimal digits. */
export const byteaOf = (hex: string | undefined): string | undefined => (hex === undefined ? undefined : `\\x${hex}`);

/** A value of a composite type, for a parameter that is one or a list of them (`$1::name[]`): its fields in the order of the type. */
export function compositeOf(fields: readonly unknown[]): string {
  return `(${fields.map(encodeField).join(',')})`;
}

function encodeField(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  const text = encodeParameter(value);
  if (text === null) return '';
  if (typeof text !== 'string') return `"\\\\x${text.toString('hex')}"`;
  return PLAIN_FIELD.test(text) ? text : quoted(text);
}

/** An empty field is null, and parentheses, commas, quotes, backslashes and white space end or change a field without quotes. */
const PLAIN_FIELD = /^[A-Za-z0-9_.+:-]+$/;

declare const row: unique symbol;

/**
 * An SQL statement with a name. Every connection prepares it once, under that name.
 *
 * `Row` is the type of one row: bigint columns are `bigint`, numeric, dates and instants are `string`, json is parsed.
 * It exists for the compiler only; the tests alone check it against the database.
 */
export interface SqlStatement<Row> {
  readonly name: string;
  readonly text: string;
  readonly [row]?: Row;
}

/** A statement together with the values of its parameters, ready to be sent. */
export interface BoundStatement<Row> {
  readonly statement: SqlStatement<Row>;
  /** As they are sent: text, bytes or null. */
  readonly values: readonly WireValue[];
}

/** The rows of a bound statement. Statements without rows have an empty list; to count, use RETURNING. */
type RowsOf<B> = B extends BoundStatement<infer Row> ? Row[] : never;

/** The rows of each statement of a pipeline, in their order. */
export type RowsOfEach<T extends readonly BoundStatement<unknown>[]> = { -readonly [K in keyof T]: RowsOf<T[K]> };

/** PostgreSQL truncates longer names, which makes one statement of two. */
const NAME_BYTES_MAX = 63;

const texts = new Map<string, string>();

/**
 * Names an SQL statement. Call it once per statement, where a module is loaded.
 *
 * @throws Error when the name is empty or longer than 63 bytes, or belongs to another text: errors of the calling code.
 */
export function sqlStatement<Row = Record<string, unknown>>(name: string, text: string): SqlStatement<Row> {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > NAME_BYTES_MAX) throw new Error(`a statement's name has 1 to 63 bytes: "${name}"`);
  const known = texts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements are named "${name}"`);
  texts.set(name, text);
  return { name, text };
}

/**
 * Binds the values of a statement's parameters, `$1` first.
 *
 * Lists become arrays (`unnest($1::bigint[])`), other objects JSON, a Date an instant; `undefined` is NULL. A list that
 * is meant as JSON must be written with `JSON.stringify`.
 *
 * @throws Error for a value that SQL cannot express, such as a function.
 */
export function bind<Row>(statement: SqlStatement<Row>, ...values: unknown[]): BoundStatement<Row> {
  return { statement, values: values.map(encodeParameter) };
}

/**
 * SQL of a subquery that is executed for each row (`offset 0`), for rows that a list or a page names. The planner expects far more of
 * them than there are, and a plan from the time when the table was small stays until the table is analyzed: it would join the whole table.
 */
export const lookup = (select: string): string => `lateral (${select} offset 0)`;
