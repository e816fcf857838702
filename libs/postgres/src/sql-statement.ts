import { encodeParameter, type WireValue } from './parameters.js';

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
