/** JSON with a canonical form: its numbers are safe integers. */
export type CanonicalValue =
  string | number | boolean | null | readonly CanonicalValue[] | { readonly [key: string]: CanonicalValue };

/**
 * Writes JSON in the canonical form of RFC 8785, so that equal values are equal bytes in UTF-8: no spaces, the shortest
 * escapes, members in the order of the UTF-16 code units of their names (section 3.2.3).
 *
 * Stricter than the RFC: a number must be a safe integer. No value here is a fraction, and a verifier in another language
 * needs no ECMAScript number formatting.
 *
 * @throws Error for a fraction, an unsafe integer, a lone surrogate (section 3.2.2.2), or a value outside of JSON such as
 *   `undefined`: the caller omits missing members. The message has the JSON Pointer of the value and never the value.
 */
export function canonicalJson(value: CanonicalValue): string {
  switch (typeof value) {
    case 'string':
      return text(value);
    case 'boolean':
      return String(value);
    case 'number':
      return integer(value);
    case 'object':
      if (value === null) return 'null';
      return isList(value) ? list(value) : members(value);
    default:
      throw new NoCanonicalForm('not a JSON value');
  }
}

/** A member name that a message may contain: it looks like an identifier, not like a value. */
const SHOWN_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** Rethrown at each level with a longer path, so that only invalid values cost time for their path. */
class NoCanonicalForm extends Error {
  override readonly name = 'NoCanonicalForm';

  constructor(
    readonly problem: string,
    readonly pointer = '',
  ) {
    super(`${problem}, at "${pointer}"`);
  }
}

type Writer<Value> = (value: Value) => string;

/** @param key of the value in its object or list */
function inner<Value, Text>(write: (value: Value) => Text, value: Value, key: string | number): Text {
  try {
    return write(value);
  } catch (error) {
    if (!(error instanceof NoCanonicalForm)) throw error;
    const token = typeof key === 'number' || SHOWN_NAME.test(key) ? key : '*';
    throw new NoCanonicalForm(error.problem, `/${token}${error.pointer}`);
  }
}

/** The text of a member. Undefined if it is omitted. */
type MemberWriter<Value> = (value: Value) => string | undefined;

/**
 * Returns a writer of objects with these fields, which ignores others. The text is that of `canonicalJson` for an object with exactly these
 * members, without making that object and sorting its names: each order is hashed several times.
 */
export function canonicalMembers<T>(fields: { readonly [Name in keyof T]-?: MemberWriter<T[Name]> }): Writer<T> {
  const names = (Object.keys(fields) as (keyof T & string)[]).sort();
  const members = names.map((name) => ({
    name,
    start: `${text(name)}:`,
    write: fields[name] as MemberWriter<unknown>,
  }));
  return (value) => {
    let written = '{';
    for (const { name, start, write } of members) {
      const member = inner(write, value[name], name);
      if (member === undefined) continue;
      written += written.length === 1 ? start + member : `,${start}${member}`;
    }
    return `${written}}`;
  };
}

/** Returns a writer of lists whose items have a writer. */
export const canonicalItems =
  <Item>(write: Writer<Item>): Writer<readonly Item[]> =>
  (items) =>
    `[${items.map((item, index) => inner(write, item, index)).join(',')}]`;

/** Other than `map`, this calls the writer for a gap too. */
const list = (values: readonly CanonicalValue[]): string =>
  `[${Array.from(values, (value, index) => inner(canonicalJson, value, index)).join(',')}]`;

function members(value: { readonly [key: string]: CanonicalValue }): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new NoCanonicalForm('not a plain object');
  }
  // The default order is that of the UTF-16 code units.
  const written = Object.keys(value)
    .sort()
    .map((name) => `${text(name)}:${inner(canonicalJson, value[name]!, name)}`);
  return `{${written.join(',')}}`;
}

/** `JSON.stringify` writes strings as the RFC requires (section 3.2.2.2), but it escapes lone surrogates, which makes the text longer. */
function text(value: string): string {
  const written = JSON.stringify(value);
  if (written.length > value.length + 2 && /\p{Surrogate}/u.test(value)) {
    throw new NoCanonicalForm('a lone surrogate has no UTF-8 form');
  }
  return written;
}

function integer(value: number): string {
  if (!Number.isSafeInteger(value)) throw new NoCanonicalForm('not a safe integer');
  return String(value === 0 ? 0 : value);
}

function isList(value: object): value is readonly CanonicalValue[] {
  return Array.isArray(value);
}
