import { parseInstant, type Timestamp } from '@banking/domain';
import { lookup } from '@banking/postgres';

/** Columns of a resource by the name of their value: each as SQL over the alias of its table. */
export type Columns<Row> = { readonly [Name in keyof Row]: (alias: string) => string };

/** A column of the table with the same value. */
export const column =
  (name: string) =>
  (alias: string): string =>
    `${alias}.${name}`;

/** A number of 64 bits as digits. */
export const digits =
  (name: string) =>
  (alias: string): string =>
    `${alias}.${name}::text`;

/** The columns as a list of SELECT. */
export function selected<Row>(columns: Columns<Row>, alias: string): string {
  return entriesOf(columns)
    .map(([name, sql]) => `${sql(alias)} as "${name}"`)
    .join(', ');
}

/** The columns as one JSON array, for a row inside of another row. An array is built and read faster than an object. */
export function packed<Row>(columns: Columns<Row>, alias: string, more: readonly string[] = []): string {
  return `json_build_array(${[...listed(columns, alias), ...more].join(', ')})`;
}

/** The columns as one JSON object. */
export const packedByName = <Row>(columns: Columns<Row>, alias: string): string =>
  `json_build_object(${entriesOf(columns)
    .map(([name, sql]) => `'${name}', ${sql(alias)}`)
    .join(', ')})`;

/** The SQL of each column. */
export const listed = <Row>(columns: Columns<Row>, alias: string): readonly string[] =>
  entriesOf(columns).map(([, sql]) => sql(alias));

/** Returns a reader of packed rows. The values after the columns are `more`, in its order. */
export const unpacking = <Row>(columns: Columns<Row>): ((values: readonly unknown[]) => Row) =>
  unpackingNames(namesOf(columns));

/** Returns a reader of rows with these values. */
export function unpackingNames<Row>(names: readonly (keyof Row & string)[]): (values: readonly unknown[]) => Row {
  return (values) => {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index += 1) row[names[index]!] = values[index];
    return row as Row;
  };
}

/** Returns a writer of packed rows. */
export const packing = <Row>(columns: Columns<Row>): ((row: Row) => unknown[]) => packingNames(namesOf(columns));

/** Returns a writer of rows with these values. */
export const packingNames =
  <Row>(names: readonly (keyof Row)[]) =>
  (row: Row): unknown[] =>
    names.map((name) => row[name]);

const namesOf = <Row>(columns: Columns<Row>) => Object.keys(columns) as (keyof Row & string)[];
const entriesOf = <Row>(columns: Columns<Row>) => Object.entries(columns) as [string, (alias: string) => string][];

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
