import type { RefusalRow } from '../base-refusal.js';

/** 409 and 422: the request is valid and allowed, and the state of the books or a rule prevents it. */
export const BUSINESS = {
  insufficient_funds: {
    status: 422,
    message: 'The account does not hold the amount.',
    action: 'Fund the account or send a smaller amount, then try again.',
  },
  account_disabled: {
    status: 422,
    message: 'The account is disabled.',
    action: 'Ask an administrator to enable the account, or use another account.',
  },
  balance_limit_exceeded: {
    status: 422,
    message: 'The balance of the account would exceed the limit of 9007199254740991 minor units.',
    action: 'Move a smaller amount, or use another account.',
  },
  idempotency_in_progress: {
    status: 409,
    message: 'A request with the same Idempotency-Key is still running.',
    action: 'Wait for the seconds in Retry-After, then send the same request with the same key.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'The Idempotency-Key was used for another request.',
    action: 'Use one key for all attempts of one request, and a new key for the next request.',
  },
  recipient_invalid: {
    status: 422,
    message: 'The recipient does not exist, or its details do not match the schema of the corridor.',
    action: 'Correct the field that details names.',
  },
  corridor_disabled: {
    status: 422,
    message: 'The corridor to the recipient is disabled.',
    action: 'Use a corridor that is enabled, or try again after this one is enabled.',
  },
  payouts_unavailable: {
    status: 422,
    message: 'No payment network serves the corridor. Nothing was debited.',
    action: 'Pay an account of this service, or ask the operator to connect a payment network.',
  },
  amount_below_minimum: {
    status: 422,
    message: 'The amount is below the minimum for this payment.',
    action: 'Send at least the amount that the message names.',
  },
  amount_above_maximum: {
    status: 422,
    message: 'The amount is above the maximum for this payment.',
    action: 'Send at most the amount that the message names.',
  },
  rate_unavailable: {
    status: 422,
    message: 'No exchange rate is available for this payment.',
    action: 'Try again later, or use another currency.',
  },
  product_unavailable: {
    status: 422,
    message: 'No product has this id.',
    action: 'Use an id from the list of products.',
  },
  external_reference_reused: {
    status: 422,
    message: 'Another order of the workspace has this externalReference.',
    action: 'Read the other order, or choose another externalReference.',
  },
  purpose_code_required: {
    status: 422,
    message: 'An international payment requires a purposeCode.',
    action: 'Choose a code from GET /orders/purposes.',
  },
  purpose_code_invalid: {
    status: 422,
    message: 'The purposeCode is not in the list of purpose codes.',
    action: 'Choose a code from GET /orders/purposes.',
  },
  schedule_invalid: {
    status: 422,
    message: 'The schedule of the order is not valid.',
    action: 'Correct the fields that details names.',
  },
  quote_unusable: {
    status: 422,
    message: 'The workspace has no quote with this id for this account, recipient and amount.',
    action: 'Name a quote for the same account, recipient and amount, or none.',
  },
  quote_expired: {
    status: 422,
    message: 'The quote has expired.',
    action: 'Create another quote, or place the order without one.',
  },
  quote_used: {
    status: 422,
    message: 'Another order has used this quote.',
    action: 'Create another quote: each quote is for one order.',
  },
  order_not_cancellable: {
    status: 409,
    message: 'The order has no run left to cancel.',
    action: 'Stop: an executed payment is not cancelled. If its money returns, it is a new transaction.',
  },
  order_not_paused: {
    status: 409,
    message: 'The order is not paused.',
    action: 'Read the order: only a paused order can be resumed.',
  },
  webhook_url_refused: {
    status: 422,
    message: 'The service does not deliver to this address.',
    action: 'Use an https address of a public host, without credentials and fragment.',
  },
  webhook_endpoint_limit: {
    status: 422,
    message: 'The workspace has 20 webhook endpoints, which is the limit.',
    action: 'Delete an endpoint, or add the types of events to an existing one.',
  },
  webhook_endpoint_disabled: {
    status: 422,
    message: 'The webhook endpoint is disabled.',
    action: 'Enable the endpoint, then send the request again.',
  },
  webhook_replay_limit: {
    status: 422,
    message: 'The period has more than 10000 events.',
    action: 'Divide the period, and send one request for each part.',
  },
  webhook_delivery_limit: {
    status: 422,
    message:
      'A replay of the workspace goes on, or it would exceed 20000 pending deliveries, or 50000 requested ones a day.',
    action: 'Wait until each delivery was attempted, or until the next day in UTC, then send the request again.',
  },
  webhook_delivered: {
    status: 409,
    message: 'The delivery has arrived.',
    action: 'Replay the events of a period to receive them again.',
  },
  webhooks_unavailable: {
    status: 422,
    message: 'The deployment has no key for the secrets of webhooks.',
    action: 'Ask the operator of the deployment to configure WEBHOOK_KEY.',
  },
  clock_invalid: {
    status: 422,
    message: 'The clock of a workspace only moves forward, and to at most 100 years ahead.',
    action: 'Send a time that is not before the current time of the clock.',
  },
} as const satisfies Record<string, RefusalRow>;
