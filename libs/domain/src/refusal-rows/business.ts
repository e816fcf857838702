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
  statement_too_long: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'More than 10000 movements fall in the period.',
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
} as const satisfies Record<string, RefusalRow>;
