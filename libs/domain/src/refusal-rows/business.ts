import type { RefusalRow } from '../refusal.js';

/** Understood, allowed, and not possible as things are: 409 and 422. */
export const BUSINESS = {
  insufficient_funds: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The account does not hold the amount.',
  },
  account_disabled: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The account is disabled.',
  },
  balance_limit_exceeded: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The balance of the account would become larger than an account may hold.',
  },
  idempotency_in_progress: {
    status: 409,
    errorCode: 'conflict',
    meaning: 'A request with the same Idempotency-Key is still being carried out.',
  },
  idempotency_key_reused: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The Idempotency-Key was used for another request.',
  },
  recipient_invalid: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The recipient is not known, or not as the corridor asks for.',
  },
  corridor_disabled: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The corridor to the recipient is closed.',
  },
  amount_below_minimum: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The amount is smaller than can be paid on this way.',
  },
  amount_above_maximum: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The amount is larger than can be paid on this way.',
  },
  rate_unavailable: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'There is no rate to convert at.',
  },
  product_not_found: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'There is no product with this id.',
  },
  external_reference_reused: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'Another order of the workspace has this externalReference.',
  },
  purpose_code_required: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'A payment abroad needs a purposeCode.',
  },
  purpose_code_invalid: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'This purposeCode is not one of those that can be sent.',
  },
  schedule_invalid: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The order cannot run as it is scheduled.',
  },
  quote_not_found: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The workspace has no quote with this id for this payment.',
  },
  quote_expired: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The quote has expired.',
  },
  quote_used: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'Another order was placed at this quote.',
  },
  order_not_cancellable: {
    status: 409,
    errorCode: 'conflict',
    meaning: 'Nothing of the order is left to cancel.',
  },
  order_not_paused: {
    status: 409,
    errorCode: 'conflict',
    meaning: 'The order is not paused.',
  },
  clock_invalid: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The clock of a workspace goes forward only, and at most 100 years ahead.',
  },
} as const satisfies Record<string, RefusalRow>;
