/** A JSON value of a body. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** One change of a valid request. A number chooses among what the operation has, by its remainder. */
export type Change =
  | { readonly kind: 'field'; readonly name: string; readonly value: Json }
  | { readonly kind: 'detail'; readonly name: string; readonly value: Json }
  | { readonly kind: 'drop'; readonly which: number }
  | { readonly kind: 'body'; readonly text: string }
  | { readonly kind: 'query'; readonly name: string; readonly text: string }
  | { readonly kind: 'path'; readonly which: number; readonly text: string }
  | { readonly kind: 'header'; readonly name: string; readonly text: string }
  | { readonly kind: 'method'; readonly method: string };

/** One request of a sequence: an operation with the values of an example, known ids and changes. */
export interface Step {
  readonly operationId: string;
  /** Which example of the operation. */
  readonly example: number;
  /** Which known ids replace those of the example. 0 keeps the id of the example. */
  readonly picks: readonly number[];
  readonly caller: 'ada' | 'bob' | 'eve' | 'none';
  readonly key: 'none' | 'new' | 'same';
  readonly changes: readonly Change[];
}

/** Every text and number that a sequence sends contains one of these, also after `JSON.parse` has rounded the number. */
export const TEXT_MARKER = 'zq8marker';
export const NUMBER_MARKER = '3165098';
export const PLANTED = new RegExp(`${TEXT_MARKER}|${NUMBER_MARKER}`);
