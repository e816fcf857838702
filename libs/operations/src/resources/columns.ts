import { parseInstant, type Timestamp } from '@banking/domain';
import { lookup } from '@banking/postgres';

/** SQL of a value over the alias of its table, with the type of the value. */
export interface Column<Value> {
  (alias: string): string;
  /** Of the type only. */
  readonly value?: Value;
}

/** Columns of a resource by the name of their value. */
export type Columns = Readonly<Record<string, Column<unknown>>>;

/** A row of these columns. */
export type RowOf<C> = { readonly [Name in keyof C]: C[Name] extends Column<infer Value> ? Value : never };

/** A column of the table with the same value. */
export const column =
  <Value>(name: string): Column<Value> =>
  (alias) =>
    `${alias}.${name}`;

/** A number of 64 bits as digits. */
export const digits = (name: string): Column<string> => digitsOrNull(name) as Column<string>;

export const digitsOrNull =
  (name: string): Column<string | null> =>
  (alias) =>
    `${alias}.${name}::text`;

/** Bytes in hex. */
export const hex =
  (name: string): Column<string> =>
  (alias) =>
    `encode(${alias}.${name}, 'hex')`;

/** The value of an expression. */
export const sqlOf = <Value>(sql: (alias: string) => string): Column<Value> => sql;

/** The columns as a list of SELECT. */
export function selected(columns: Columns, alias: string): string {
  return Object.entries(columns)
    .map(([name, sql]) => `${sql(alias)} as "${name}"`)
    .join(', ');
}

/** The columns as one JSON array, for a row inside of another row. An array is built and read faster than an object. */
export function packed(columns: Columns, alias: string, more: readonly string[] = []): string {
  return `json_build_array(${[...listed(columns, alias), ...more].join(', ')})`;
}

/** The columns as one JSON object. */
export const packedByName = (columns: Columns, alias: string): string =>
  `json_build_object(${Object.entries(columns)
    .map(([name, sql]) => `'${name}', ${sql(alias)}`)
    .join(', ')})`;

/** The SQL of each column. */
export const listed = (columns: Columns, alias: string): readonly string[] =>
  Object.entries(columns).map(([, sql]) => sql(alias));

/** Returns a reader of packed rows. The values after the columns are `more`, in its order. */
export const unpacking = <C extends Columns>(columns: C): ((values: readonly unknown[]) => RowOf<C>) =>
  unpackingNames<RowOf<C>>(namesOf(columns));

/** Returns a reader of rows with these values. */
export function unpackingNames<Row>(names: readonly (keyof Row & string)[]): (values: readonly unknown[]) => Row {
  return (values) => {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index += 1) row[names[index]!] = values[index];
    return row as Row;
  };
}

/** Returns a writer of packed rows. */
export const packing = <C extends Columns>(columns: C): ((row: RowOf<C>) => unknown[]) =>
  packingNames<RowOf<C>>(namesOf(columns));

/** Returns a writer of rows with these values. */
export const packingNames =
  <Row>(names: readonly (keyof Row)[]) =>
  (row: Row): unknown[] =>
    names.map((name) => row[name]);

const namesOf = <Row>(columns: Columns) => Object.keys(columns) as (keyof Row & string)[];

/** The row of another table that belongs to this row. */
export const joined = (table: string, alias: string, on: string): string =>
  `left join ${lookup(`select * from ${table} l where ${on}`)} ${alias} on true`;

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
  const { seconds, fraction, offsetSeconds } = parseInstant(text);
  const whole =
    offsetSeconds === 0 ? text.slice(0, SECONDS_END) : new Date(seconds * 1000).toISOString().slice(0, SECONDS_END);
  return `${whole}.${fraction.slice(0, FRACTION_DIGITS).padEnd(FRACTION_DIGITS, '0')}Z` as Timestamp;
}

/** The fields without those that are null, in their order. A missing field of a resource is omitted. */
export function withoutNulls<Resource>(fields: { readonly [Name in keyof Resource]: Resource[Name] | null }): Resource {
  if (!hasNull(fields)) return fields as Resource;
  const present: Record<string, unknown> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== null) present[name] = value;
  }
  return present as Resource;
}

/** Most resources have all fields, and are not copied. */
function hasNull(fields: Readonly<Record<string, unknown>>): boolean {
  for (const name in fields) if (fields[name] === null) return true;
  return false;
}
