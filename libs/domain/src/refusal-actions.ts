import type { RefusalReason } from './refusals.js';

/** What the caller should do about each refusal, in one sentence that stands alone. */
export const REFUSAL_ACTIONS: Readonly<Record<RefusalReason, string>> = {
  request_malformed: 'Check the request line, the percent-encoding of path and query, and the framing of the body.',
  header_repeated: 'Send the header once.',
  id_malformed: 'Send the id exactly as an earlier answer gave it.',
  workspace_id_required: 'Send Workspace-ID with the id of a workspace from the roles of the user.',
  workspace_id_invalid: 'Send the id of one workspace, in digits.',
  body_malformed:
    'Compare the body with the schema of the operation; details names the fields. Give each member of an object once.',
  parameter_unknown: 'Compare the query with the parameters of the operation; details names them.',
  parameter_invalid: 'Compare the value with the parameter of the operation; details names it.',
  limit_invalid:
    'Send a limit in the range of the parameter, or none: 1 to 500 for a list, 1 to 10000 for a statement.',
  cursor_invalid: 'Follow the Link header as it stands, or begin again without a cursor.',
  timestamp_invalid: 'Write it as 2026-11-21T09:30:00Z, or with an offset as in 2026-11-21T10:30:00+01:00.',
  field_unknown: 'Leave the field out, or correct its name; details names it.',
  idempotency_key_invalid: 'Send a key without spaces, such as a UUID, or none.',

  amount_malformed:
    'On the wire, write digits in the smallest unit of the currency: no sign, no point, no leading zero.',
  amount_out_of_range: 'Send a smaller amount.',
  amount_too_precise: 'Round the amount to the decimals of the currency before sending it.',
  currency_unknown: 'Send the three capital letters of a current currency.',

  not_authenticated: 'Obtain a new access token and send it as Authorization: Bearer.',
  workspace_forbidden: 'Use a workspace from the roles of the user, or ask its administrator for a role.',
  role_insufficient: 'Ask an administrator of the workspace to do it or to grant the role.',
  transfer_not_found: 'Check the transfer id and the Workspace-ID.',
  app_not_found: 'Use an id from the list of apps.',
  account_not_found: 'Check the account id and the Workspace-ID.',
  recipient_not_found: 'Check the recipient id and the Workspace-ID.',
  quote_unknown: 'Check the quote id and the Workspace-ID.',
  country_unknown: 'Send an ISO 3166-1 code, of two letters or three.',
  corridor_not_found: 'Choose one of the corridors to the country.',
  route_not_found: 'Compare the path with the OpenAPI document.',

  insufficient_funds: 'Fund the account or send a smaller amount, then try again.',
  account_disabled: 'Enable the account or use another one.',
  balance_limit_exceeded: 'Move a smaller amount, or use another account.',
  idempotency_in_progress:
    'Wait as many seconds as Retry-After says, then send the same request with the same key again.',
  idempotency_key_reused:
    'Make one key for each intent: the same for every try of one request, another for the next request.',
  recipient_invalid: 'Correct the field that details names.',
  corridor_disabled: 'Use a corridor that is enabled, or try again once this one is.',
  amount_below_minimum: 'Send at least the amount that the message names.',
  amount_above_maximum: 'Send at most the amount that the message names.',
  rate_unavailable: 'Try again later, or use another currency.',
  product_not_found: 'Use an id from the list of products.',

  method_not_allowed: 'Use one of the methods in the Allow header.',
  not_acceptable: 'Accept application/json.',
  request_timeout: 'Send it again, on a new connection.',
  precondition_failed: 'Read the file again without the condition.',
  payload_too_large: 'Send a smaller body.',
  uri_too_long: 'Send a shorter path and query.',
  unsupported_media_type: 'Send Content-Type: application/json.',
  headers_too_large: 'Send fewer or shorter headers.',
  rate_limited: 'Wait as many seconds as Retry-After says, then try again.',
  internal_error: 'Report the requestId. Trying again is safe for reads.',
  external_reference_reused: 'Look the other order up, or choose another externalReference.',
  purpose_code_required: 'Choose a code from GET /orders/purposes.',
  purpose_code_invalid: 'Choose a code from GET /orders/purposes.',
  schedule_invalid: 'Correct the fields that details names.',
  quote_not_found: 'Name a quote of the same account, recipient and amount, or none.',
  quote_expired: 'Ask for another quote, or place the order without one.',
  quote_used: 'Ask for another quote: each is for one order.',
  order_not_cancellable: 'Leave it: what was executed comes back, if at all, as a new transaction.',
  order_not_paused: 'Read the order: it runs by itself, or nothing of it is left to run.',
  clock_invalid: 'Send a time that is not before the one the workspace has come to.',
  transaction_not_found: 'Use the id of the transaction of a payment abroad, and check the Workspace-ID.',
  order_not_found: 'Use an id from the list of orders, and the account it belongs to.',
  upstream_error:
    'Send a read again later. What makes or changes something may have been carried out, as after outcome_unknown: read how things stand, or send the same with the key of the Idempotency-Key header.',
  upstream_timeout:
    'Send a read again. What makes or changes something may have been carried out, as after outcome_unknown: read how things stand, or send the same with the key of the Idempotency-Key header.',
  unavailable: 'Wait as many seconds as Retry-After says, then send the request again.',
  outcome_unknown:
    'Send the same request again with the same Idempotency-Key. Without a key, look first for its externalReference or in the list of what it creates or changes.',
};
