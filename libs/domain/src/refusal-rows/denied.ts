import type { RefusalRow } from '../refusal.js';

/** Who asks may not, or what they ask for is not there: 401, 403, 404. Not there and not theirs are the same. */
export const DENIED = {
  not_authenticated: {
    status: 401,
    errorCode: 'invalid_request',
    meaning: 'The request carries no valid access token.',
  },
  workspace_forbidden: {
    status: 403,
    errorCode: 'forbidden',
    meaning: 'The caller has no role in the workspace, or there is no such workspace.',
  },
  role_insufficient: {
    status: 403,
    errorCode: 'forbidden',
    meaning: 'The role of the caller in the workspace does not allow the operation.',
  },
  order_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The account has no order with this id.',
  },
  transfer_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no transfer with this id.',
  },
  app_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The caller belongs to no app with this id.',
  },
  account_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no account with this id.',
  },
  recipient_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no recipient with this id.',
  },
  quote_unknown: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no quote with this id.',
  },
  transaction_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no transaction with this id that leaves for another institution.',
  },
  country_unknown: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'There is no country with this code.',
  },
  corridor_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'There is no corridor to this country in this currency by this payout method.',
  },
  route_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'There is no operation at this path.',
  },
} as const satisfies Record<string, RefusalRow>;
