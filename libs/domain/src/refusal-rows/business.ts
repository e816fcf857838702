import type { RefusalRow } from '../refusal.js';

/** Understood, allowed, and not possible as things are: 409 and 422. */
export const BUSINESS = {
  insufficient_funds: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The account does not hold the amount.',
    action: 'Fund the account or send a smaller amount, then try again.',
  },
  account_disabled: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The account is disabled.',
    action: 'Enable the account or use another one.',
  },
  balance_limit_exceeded: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The balance of the account would become larger than an account may hold.',
    action: 'Move a smaller amount, or use another account.',
  },
  idempotency_in_progress: {
    status: 409,
    errorCode: 'conflict',
    meaning: 'A request with the same Idempotency-Key is still being carried out.',
    action: 'Wait as many seconds as Retry-After says, then send the same request with the same key again.',
  },
  idempotency_key_reused: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The Idempotency-Key was used for another request.',
    action: 'Make one key for each intent: the same for every try of one request, another for the next request.',
  },
  recipient_invalid: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'The recipient is not known, or not as the corridor asks for.',
    action: 'Correct the field that details names.',
  },
  product_not_found: {
    status: 422,
    errorCode: 'unprocessable',
    meaning: 'There is no product with this id.',
    action: 'Use an id from the list of products.',
  },
} as const satisfies Record<string, RefusalRow>;
