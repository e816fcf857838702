import { AMOUNT_REFUSALS } from './amount-refusal.js';
import { BUSINESS } from './refusal-rows/business.js';
import { DENIED } from './refusal-rows/denied.js';
import { MALFORMED } from './refusal-rows/malformed.js';
import { PROTOCOL } from './refusal-rows/protocol.js';
import { type RefusalOptions, type RefusalRow, BaseRefusal } from './base-refusal.js';

/**
 * The table of refusals: every expected failure of the service, one row each.
 *
 * HTTP responses, the OpenAPI document, the client and the documentation page are made from this table, so a reason
 * that is not here cannot be sent. Reasons are stable: callers may branch on them.
 */
export const REFUSALS = {
  ...MALFORMED,
  ...AMOUNT_REFUSALS,
  ...DENIED,
  ...BUSINESS,
  ...PROTOCOL,
} as const satisfies Record<string, RefusalRow>;

/** A stable code of an expected failure: one row of {@link REFUSALS}. */
export type RefusalReason = keyof typeof REFUSALS;

/** When a caller may try again whose refusal gives no other time: the value of `Retry-After` in seconds. */
export const RETRY_AFTER_S = 1;

/**
 * An expected failure with a reason that the caller can act on. An unexpected failure is a plain `Error` and has the
 * response `internal_error`.
 */
export class Refusal extends BaseRefusal<RefusalReason> {
  static override readonly kind: string = 'Refusal';

  /** @param message sent to the caller; the message of the row if it is left out */
  constructor(reason: RefusalReason, message?: string, options?: RefusalOptions) {
    super(reason, REFUSALS[reason], message, options);
  }
}

/** Whether a text is a reason of the table in this version of the library. */
export function isRefusalReason(text: string): text is RefusalReason {
  return Object.hasOwn(REFUSALS, text);
}
