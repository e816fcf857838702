import { ANY_TEXT, ID, type Member, optional, TEXTS } from './record.js';

/**
 * What the payer states of an order, and the order shows unchanged. The request, the resource, the column of the order and its line in an
 * export follow from these two tables.
 */

/** The hash of a transaction covers these as they are, so they cannot be erased: none is a text about a person. */
export const HASHED_STATEMENTS = {
  /** A code of GET /orders/purposes. A payment abroad needs one, and so does one to a country with a list of its own. */
  purposeCode: optional(ANY_TEXT),
  /** The number of units between two runs: 1 to 366. */
  repeatValue: optional(ID),
  /** The payer's reference of the order: 1 to 140 characters, permanently unique in the workspace. */
  externalReference: optional(ANY_TEXT),
};

/** Free texts, which can be erased. The hash covers their salted digest; see `canonicalOrderTexts`. */
export const ERASABLE_STATEMENTS = {
  /** 1 to 512 characters of free text (`isFreeText`). */
  description: optional(ANY_TEXT),
  /** At most 20 pairs of the payer. */
  metadata: optional(TEXTS),
};

/** The values of optional members. */
type Stated<Members> = {
  readonly [Name in keyof Members]?: Members[Name] extends Member<infer Value> ? Value : never;
};

export type HashedStatements = Stated<typeof HASHED_STATEMENTS>;

export type ErasableStatements = Stated<typeof ERASABLE_STATEMENTS>;

export type OrderStatements = HashedStatements & ErasableStatements;

export const ORDER_STATEMENT_NAMES = Object.keys({
  ...ERASABLE_STATEMENTS,
  ...HASHED_STATEMENTS,
}) as readonly (keyof OrderStatements)[];
