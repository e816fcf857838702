import { encodeParameter, type WireValue } from './parameters.js';

declare const row: unique symbol;

/**
 * A piece of SQL with a name of its own. Every connection plans it once and remembers it by that name.
 *
 * `Row` is what one row looks like: bigint columns are `bigint`, numeric, dates and instants are `string`, json is parsed.
 * It exists for the compiler only; nobody checks it against the database but the tests.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  readonly [row]?: Row;
}

/** A statement together with the values of its parameters, ready to be sent. */
export interface Bound<Row> {
  readonly statement: Statement<Row>;
  /** As they travel: text, bytes or null. */
  readonly values: readonly WireValue[];
}

/** The rows a bound statement answers with. Statements without rows answer with an empty list; to count, use RETURNING. */
type RowsOf<B> = B extends Bound<infer Row> ? Row[] : never;

/** What several statements of one flight answer, in their order. */
export type RowsOfEach<T extends readonly Bound<unknown>[]> = { -readonly [K in keyof T]: RowsOf<T[K]> };

/** PostgreSQL cuts longer names short, and two statements cut to one name are one. */
const NAME_BYTES_MAX = 63;

const texts = new Map<string, string>();

/**
 * Names a piece of SQL. Call it once per statement, where a module is loaded.
 *
 * @throws Error when the name is empty or longer than 63 bytes, or was given to another text: both are bugs.
 */
export function statement<Row = Record<string, unknown>>(name: string, text: string): Statement<Row> {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > NAME_BYTES_MAX) throw new Error(`a statement's name has 1 to 63 bytes: "${name}"`);
  const known = texts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements are named "${name}"`);
  texts.set(name, text);
  return { name, text };
}

/**
 * Gives a statement its values, `$1` first.
 *
 * Lists become arrays (`unnest($1::bigint[])`), other objects JSON, a Date an instant; `undefined` is NULL. A list that
 * is meant as JSON must be written with `JSON.stringify`.
 *
 * @throws Error for a value that has no spelling in SQL, such as a function.
 */
export function bind<Row>(statement: Statement<Row>, ...values: unknown[]): Bound<Row> {
  return { statement, values: values.map(encodeParameter) };
}
