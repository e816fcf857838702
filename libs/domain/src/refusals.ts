import { AMOUNT_REFUSALS } from './amount-refusal.js';
import { BUSINESS } from './refusal-rows/business.js';
import { DENIED } from './refusal-rows/denied.js';
import { MALFORMED } from './refusal-rows/malformed.js';
import { PROTOCOL } from './refusal-rows/protocol.js';
import { REFUSAL_BRAND, type RefusalOptions, type RefusalRow, RowRefusal } from './refusal.js';

/**
 * Every expected "no" of the service, once.
 *
 * The HTTP answers, the OpenAPI document, the client and the docs page are read from this table, so a reason that is
 * not here cannot be sent, and a reason that is here is documented. Words are stable: a caller may branch on them.
 */
export const REFUSALS = {
  ...MALFORMED,
  ...AMOUNT_REFUSALS,
  ...DENIED,
  ...BUSINESS,
  ...PROTOCOL,
} as const satisfies Record<string, RefusalRow>;

/** A stable word for why a request was refused: one row of {@link REFUSALS}. */
export type RefusalReason = keyof typeof REFUSALS;

/**
 * An expected "no": the request was understood and is refused for a reason the caller can read.
 *
 * A bug is never a Refusal: it is a plain `Error` and is answered as `internal_error`.
 *
 * `instanceof Refusal` holds whichever copy of this library made it: a process that both imports and requires the
 * library has two.
 */
export class Refusal extends RowRefusal {
  /** The message is sent to the caller; without one, the meaning of the reason in the table is used. */
  constructor(reason: RefusalReason, message?: string, options?: RefusalOptions) {
    super(reason, REFUSALS[reason], message, options);
  }

  /** Asked of this class, the brand decides; asked of a subclass, which inherits the question, its own prototype. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== Refusal) return super[Symbol.hasInstance](value);
    return (value as Partial<Refusal> | null | undefined)?.[REFUSAL_BRAND] === true;
  }
}

/** Whether a word is a row of the refusal table this version of the library knows. */
export function isRefusalReason(word: string): word is RefusalReason {
  return Object.hasOwn(REFUSALS, word);
}
