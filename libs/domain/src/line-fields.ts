import { isTimestamp, type Timestamp } from './timestamp.js';

/** The fault of a line, as the end of a sentence that begins with the line number. */
export class LineFault extends Error {}

export type Members = Readonly<Record<string, unknown>>;

export const ID_MIN = 1;
export const HASH = /^[0-9a-f]{64}$/;
export const HEAD = /^(?:[0-9a-f]{64})?$/;
export const CURRENCY = /^[A-Z]{3}$/;
export const WORD = /./;
export const ANY = /^/;
/** Without control characters, because `banking prove` prints it to a terminal. */
export const NAME = /^\P{Cc}*$/u;
export const KIND = /^[a-z]+$/;
export const POSITIVE = /^[1-9][0-9]{0,18}$/;
export const NOT_NEGATIVE = /^(?:0|[1-9][0-9]{0,18})$/;
export const SIGNED = /^(?:0|-?[1-9][0-9]{0,37})$/;

export function members(value: unknown, name: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed(name);
  return value as Members;
}

export function list(owner: Members, name: string): readonly Members[] {
  const value = owner[name];
  if (!Array.isArray(value)) throw malformed(name);
  return value.map((entry) => members(entry, name));
}

export function whole(owner: Members, name: string, min = 0): number {
  const value = owner[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min) throw malformed(name);
  return value;
}

export function text(owner: Members, name: string, shape: RegExp): string {
  const value = owner[name];
  // A lone surrogate has no UTF-8 form, so no hashed text contains one.
  if (typeof value !== 'string' || !shape.test(value) || /\p{Surrogate}/u.test(value)) throw malformed(name);
  return value;
}

export function instant(owner: Members, name: string): Timestamp {
  const value = text(owner, name, WORD);
  if (!isTimestamp(value)) throw malformed(name);
  return value;
}

export function malformed(name: string): LineFault {
  return new LineFault(`is not a line of an export: ${name} is missing or has the wrong type`);
}
