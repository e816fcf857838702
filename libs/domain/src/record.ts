import { canonicalItems, canonicalJson, canonicalMembers, type CanonicalValue } from './canonical-json.js';
import { isTimestamp, type Timestamp } from './timestamp.js';

/** The fault of a line, as the end of a sentence that begins with the line number. */
export class LineFault extends Error {}

/** The members of a parsed JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** How one member of a record is read, strictly, and written. */
export interface Member<Value> {
  /** @throws LineFault */
  readonly read: (owner: Members, name: string) => Value;
  /** Undefined if the member is left out. */
  readonly write: (value: Value) => string | undefined;
}

/** A member for each field of a record. */
type Fields<Value> = { readonly [Name in keyof Value]-?: Member<Value[Name]> };

/** An object with these members and no others, whose text is RFC 8785 JSON. */
export interface RecordFormat<Value> {
  /** @throws LineFault for a member that is missing or has the wrong type. Other members are ignored. */
  readonly read: (owner: Members) => Value;
  /** Members that are undefined, or of other names, are left out. */
  readonly write: (value: Value) => string;
}

interface RecordRules<Value> {
  /** Members with one possible value, and the fault of any other. They are written, and are no part of the value. */
  readonly constants?: { readonly values: Readonly<Record<string, string | number>>; readonly fault: string };
  /** @returns the fault of members that do not go with each other, as the end of a sentence */
  readonly fault?: (value: Value) => string | undefined;
}

/** The form of a record: its reader and its writer follow from its members. */
export function record<Value extends object>(
  fields: Fields<Value>,
  { constants = { values: {}, fault: '' }, fault }: RecordRules<Value> = {},
): RecordFormat<Value> {
  const members = Object.entries(fields) as [string, Member<unknown>][];
  const writers = [
    ...Object.entries(constants.values).map(([name, value]) => [name, () => canonicalJson(value)] as const),
    ...members.map(([name, { write }]) => [name, write] as const),
  ];
  return {
    read(owner) {
      for (const name in constants.values) {
        if (owner[name] !== constants.values[name]) throw new LineFault(constants.fault);
      }
      const value: Record<string, unknown> = {};
      for (const [name, { read }] of members) value[name] = read(owner, name);
      const problem = fault?.(value as Value);
      if (problem !== undefined) throw new LineFault(problem);
      return value as Value;
    },
    write: canonicalMembers<Value>(Object.fromEntries(writers) as never),
  };
}

function malformed(name: string): LineFault {
  return new LineFault(`is not a line of an export: ${name} is missing or has the wrong type`);
}

export function membersOf(value: unknown, name: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed(name);
  return value as Members;
}

function member<Value extends CanonicalValue>(read: (owner: Members, name: string) => Value): Member<Value> {
  return { read, write: canonicalJson };
}

/** A whole number. */
export const whole = (min = 0): Member<number> =>
  member((owner, name) => {
    const value = owner[name];
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min) throw malformed(name);
    return value;
  });

/** A lone surrogate has no UTF-8 form, so no hashed text contains one. */
const isText = (value: unknown): value is string => typeof value === 'string' && !/\p{Surrogate}/u.test(value);

/** A text of a shape. @param other the fault of one of another shape, as the end of a sentence */
export const text = <Value extends string>(shape: RegExp, other?: string): Member<Value> =>
  member((owner, name) => {
    const value = owner[name];
    if (!isText(value)) throw malformed(name);
    if (!shape.test(value)) throw other === undefined ? malformed(name) : new LineFault(other);
    return value as Value;
  });

export const ID = whole(1);
export const ANY_TEXT = text<string>(/^/);
export const WORD = text<string>(/./);
export const CURRENCY = text<string>(/^[A-Z]{3}$/);
/** SHA-256 in hex. */
export const HASH = text<string>(/^[0-9a-f]{64}$/);
/** Digits, in minor units. */
export const POSITIVE = text<string>(/^[1-9][0-9]{0,18}$/);
export const NOT_NEGATIVE = text<string>(/^(?:0|[1-9][0-9]{0,18})$/);
export const SIGNED = text<string>(/^(?:0|-?[1-9][0-9]{0,37})$/);

/** An instant in UTC with six fractional digits. */
export const INSTANT: Member<Timestamp> = member((owner, name) => {
  const value = WORD.read(owner, name);
  if (!isTimestamp(value)) throw malformed(name);
  return value;
});

/** Pairs of a name and a text. */
export const TEXTS: Member<Readonly<Record<string, string>>> = {
  read(owner, name) {
    const pairs = membersOf(owner[name], name);
    if (!Object.entries(pairs).flat().every(isText)) throw malformed(name);
    return pairs as Readonly<Record<string, string>>;
  },
  // Canonical JSON takes plain objects only.
  write: (pairs) => canonicalJson({ ...pairs }),
};

/** A member that may be missing. */
export const optional = <Value>({ read, write }: Member<Value>): Member<Value | undefined> => ({
  read: (owner, name) => (owner[name] === undefined ? undefined : read(owner, name)),
  write: (value) => (value === undefined ? undefined : write(value)),
});

/** A record in a record. */
export const nested = <Value>({ read, write }: RecordFormat<Value>): Member<Value> => ({
  read: (owner, name) => read(membersOf(owner[name], name)),
  write,
});

/** A list of records, written in the order of a number. */
export const listOf = <Value>(
  { read, write }: RecordFormat<Value>,
  order: (value: Value) => number,
): Member<readonly Value[]> => {
  const writeItems = canonicalItems(write);
  return {
    read(owner, name) {
      const values = owner[name];
      if (!Array.isArray(values)) throw malformed(name);
      return values.map((value) => read(membersOf(value, name)));
    },
    write: (values) => writeItems(values.toSorted((left, right) => order(left) - order(right))),
  };
};
