import { type RefusalRow, type RefusalOptions, BaseRefusal } from './base-refusal.js';
import { AMOUNT_REFUSALS } from './amount.js';

/** 400: the request is not valid for the operation. */
const MALFORMED = {
  request_malformed: {
    status: 400,
    message: 'The request is not well-formed HTTP.',
    action: 'Check the request line, the percent-encoding of path and query, and the framing of the body.',
  },
  header_repeated: {
    status: 400,
    message: 'A header that may appear once was sent more than once.',
    action: 'Send the header once.',
  },
  id_malformed: {
    status: 400,
    message: 'An id must be a whole number from 1 to 2^53 - 1, in digits without a leading zero.',
    action: 'Send the id exactly as an earlier response gave it.',
  },
  workspace_id_required: {
    status: 400,
    message: 'The operation belongs to a workspace, and the Workspace-ID header is missing.',
    action: 'Send Workspace-ID with the id of a workspace from the roles of the user.',
  },
  workspace_id_invalid: {
    status: 400,
    message: 'The Workspace-ID header is not an id.',
    action: 'Send the id of one workspace, in digits.',
  },
  body_malformed: {
    status: 400,
    message: 'The body is not JSON, or does not match the schema of the operation.',
    action:
      'Compare the body with the schema of the operation; details names the fields. Give each member of an object once.',
  },
  parameter_unknown: {
    status: 400,
    message: 'The query has a parameter that the operation does not have.',
    action: 'Remove the parameter, or correct its name; details names it.',
  },
  parameter_repeated: {
    status: 400,
    message: 'A query parameter that may appear once was sent more than once.',
    action: 'Send the parameter once; details names it.',
  },
  parameter_invalid: {
    status: 400,
    message: 'A query parameter has a value that the operation does not accept.',
    action: 'Send a value that the parameter accepts; details names the parameter.',
  },
  limit_invalid: {
    status: 400,
    message: 'The limit must be a whole number from 1 to 500.',
    action: 'Send a limit in that range, or none.',
  },
  cursor_invalid: {
    status: 400,
    message: 'The cursor belongs to another path, workspace or filter. Only `limit` may change between pages.',
    action: 'Follow the Link header unchanged, or start again without a cursor.',
  },
  timestamp_invalid: {
    status: 400,
    message: 'A time is not RFC 3339 with an offset, a day does not exist, or a period ends before it begins.',
    action: 'Write the time as 2026-11-21T09:30:00Z, or with an offset as in 2026-11-21T10:30:00+01:00.',
  },
  field_unknown: {
    status: 400,
    message: 'The body has a field that the operation does not have.',
    action: 'Remove the field, or correct its name; details names it.',
  },
  idempotency_key_invalid: {
    status: 400,
    message: 'The idempotency key must be 1 to 255 visible ASCII characters.',
    action: 'Send a key without spaces, such as a UUID, or none.',
  },
} as const satisfies Record<string, RefusalRow>;

/** 401, 403, 404. A resource that does not exist and a resource of another workspace have the same response. */
const DENIED = {
  not_authenticated: {
    status: 401,
    message: 'The request carries no valid access token.',
    action: 'Obtain a new access token and send it as Authorization: Bearer.',
  },
  step_up_required: {
    status: 401,
    message: 'The operation needs a recent or stronger sign-in of a person.',
    action: 'Let the person sign in again with the acr_values and max_age of WWW-Authenticate. A key cannot do so.',
  },
  scope_insufficient: {
    status: 403,
    message: 'The scopes of the credential do not allow the operation.',
    action: 'Use a credential with the scope that WWW-Authenticate names.',
  },
  workspace_forbidden: {
    status: 403,
    message: 'The caller has no role in the workspace, or the workspace does not exist.',
    action: 'Use a workspace from the roles of the user, or ask its administrator for a role.',
  },
  role_insufficient: {
    status: 403,
    message: 'No role of the caller in the workspace allows the operation.',
    action: 'Ask an administrator of the workspace to call the operation, or to grant the role.',
  },
  not_through_gateway: {
    status: 403,
    message: 'The operation is of a person, and the service behind this gateway knows the gateway only.',
    action: 'Send the request to the service behind the gateway.',
  },
  approver_is_maker: {
    status: 403,
    message: 'Who makes a request, or takes over its order, and who decides on it are different people.',
    action:
      'Ask another approver of the workspace. Take an order over after it is approved, by a user who has not decided on it.',
  },
  approval_not_found: {
    status: 404,
    message: 'The workspace has no approval with this id.',
    action: 'Check the approval id and the Workspace-ID.',
  },
  order_not_found: {
    status: 404,
    message: 'The account or workspace has no order with this id.',
    action: 'Check the order id and the Workspace-ID. In a path with an account, use the account that pays the order.',
  },
  transfer_not_found: {
    status: 404,
    message: 'The workspace has no transfer with this id.',
    action: 'Check the transfer id and the Workspace-ID.',
  },
  deposit_not_found: {
    status: 404,
    message: 'The workspace has no deposit with this id.',
    action: 'Check the deposit id and the Workspace-ID.',
  },
  app_not_found: {
    status: 404,
    message: 'The caller belongs to no app with this id.',
    action: 'Use an id from the list of apps.',
  },
  account_not_found: {
    status: 404,
    message: 'The workspace has no account with this id.',
    action: 'Check the account id and the Workspace-ID.',
  },
  recipient_not_found: {
    status: 404,
    message: 'The workspace has no recipient with this id.',
    action: 'Check the recipient id and the Workspace-ID.',
  },
  quote_not_found: {
    status: 404,
    message: 'The workspace has no quote with this id.',
    action: 'Check the quote id and the Workspace-ID.',
  },
  transaction_not_found: {
    status: 404,
    message: 'The workspace has no transaction with this id.',
    action:
      'Check the transaction id and the Workspace-ID. A tracking event needs the transaction of an international payment.',
  },
  advice_not_found: {
    status: 404,
    message: 'The transfer is no payment to a recipient.',
    action: 'Use the transfer that left the account for the recipient, not its fee, and no credit.',
  },
  event_not_found: {
    status: 404,
    message: 'The workspace has no event with this id.',
    action:
      'Check the event id and the Workspace-ID. Events are deleted after the time that the deployment keeps them.',
  },
  member_not_found: {
    status: 404,
    message: 'The workspace has no member with this id.',
    action: 'Use an id from the list of members, and check the Workspace-ID.',
  },
  invitation_not_found: {
    status: 404,
    message: 'No open invitation has this code.',
    action: 'Check the code. It is valid for one person, until the invitation expires.',
  },
  webhook_endpoint_not_found: {
    status: 404,
    message: 'The workspace has no webhook endpoint with this id.',
    action: 'Use an id from the list of webhook endpoints, and check the Workspace-ID.',
  },
  webhook_delivery_not_found: {
    status: 404,
    message: 'The webhook endpoint has no delivery with this id.',
    action: 'Use an id from the list of deliveries of the endpoint.',
  },
  service_account_not_found: {
    status: 404,
    message: 'The workspace has no service account with this id.',
    action: 'Use an id from the list of service accounts, and check the Workspace-ID.',
  },
  key_not_found: {
    status: 404,
    message: 'The service account has no valid key with this id.',
    action: 'Use an id from the list of keys of the service account. A revoked key is not found.',
  },
  country_unknown: {
    status: 404,
    message: 'No country has this code.',
    action: 'Send an ISO 3166-1 code of two or three letters.',
  },
  corridor_not_found: {
    status: 404,
    message: 'No corridor leads to this country in this currency with this payout method.',
    action: 'Choose from the list of corridors to the country.',
  },
  route_not_found: {
    status: 404,
    message: 'No operation has this path.',
    action: 'Compare the path with the OpenAPI document.',
  },
} as const satisfies Record<string, RefusalRow>;

/** 409 and 422: the request is valid and allowed, and the state of the books or a rule prevents it. */
const BUSINESS = {
  insufficient_funds: {
    status: 422,
    message: 'The account does not hold the amount.',
    action: 'Fund the account or send a smaller amount, then try again.',
  },
  limit_exceeded: {
    status: 422,
    message: 'The order would exceed a limit of the workspace.',
    action:
      'Send a smaller amount, wait until the limit resets, or ask an administrator to raise it. `details` names the limit.',
  },
  payment_limit_invalid: {
    status: 422,
    message: 'A limit is not valid.',
    action: 'Correct the limits that details names.',
  },
  version_conflict: {
    status: 409,
    message: 'The list was changed since the version of the request.',
    action: 'Read the list again, and send the change with its version.',
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
    message: 'A request with the same idempotency key is still running.',
    action: 'Wait for the seconds in Retry-After, then send the same request with the same key.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'The idempotency key was used for another request.',
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
    action:
      'Try again later, or use another currency. If the message names a limit, ask an administrator to change it.',
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
    message: 'A payment to this recipient requires a purposeCode.',
    action: 'Choose a code from GET /orders/purposes, with the countryCode of the recipient.',
  },
  purpose_code_invalid: {
    status: 422,
    message: 'The purposeCode is not in the list of purpose codes.',
    action: 'Choose a code from GET /orders/purposes, with the countryCode of the recipient.',
  },
  schedule_invalid: {
    status: 422,
    message: 'The schedule of the order is not valid.',
    action: 'Correct the fields that details names.',
  },
  quote_unusable: {
    status: 422,
    message:
      'The workspace has no quote with this id for this account, recipient and amount. Request one, or name none.',
    action: 'Name a quote for the same account, recipient and amount, or none.',
  },
  quote_expired: {
    status: 422,
    message: 'The quote has expired. Request another quote.',
    action: 'Place the order with a new quote, or without one.',
  },
  quote_used: {
    status: 422,
    message: 'Another order has used this quote. Request another quote.',
    action: 'Place each order with a quote of its own, or without one.',
  },
  approval_closed: {
    status: 409,
    message: 'The request was decided or withdrawn before, or the caller has decided on it.',
    action: 'Read the approval: its status is final, or it has the decision of the caller.',
  },
  approval_expired: {
    status: 409,
    message: 'The time for the approvals has passed.',
    action: 'Send the operation again, for a new approval.',
  },
  approval_changed: {
    status: 409,
    message: 'The approval, the rules, or the recipient of the order changed after they were read.',
    action: 'Read the approval or the rules again, and send the present version.',
  },
  approval_impossible: {
    status: 422,
    message: 'Fewer people may approve than the rules require.',
    action: 'Ask an administrator of the workspace to give more users the role, or to change the rules.',
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
  member_exists: {
    status: 422,
    message: 'The user is a member of the workspace.',
    action: 'Change the roles of the member instead.',
  },
  invitation_limit: {
    status: 422,
    message: 'The user has 200 open invitations in the workspace, which is the limit.',
    action: 'Wait until invitations are accepted or expire, or remove some of them.',
  },
  member_removed: {
    status: 409,
    message: 'The member was removed from the workspace.',
    action: 'Invite the address again.',
  },
  last_admin: {
    status: 409,
    message: 'The workspace would have no administrator left.',
    action: 'Give another active member the role admin first.',
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
  service_account_limit: {
    status: 422,
    message: 'The workspace has 50 service accounts, which is the limit.',
    action: 'Delete a service account that is not used any more.',
  },
  service_account_without_role: {
    status: 422,
    message: 'The service account has no role, so a key of it could do nothing.',
    action: 'Give the service account a role, then create the key.',
  },
  key_limit: {
    status: 422,
    message: 'The service account has 10 valid keys, which is the limit.',
    action: 'Revoke a key that is not used any more: lastUsedAt tells which.',
  },
  network_invalid: {
    status: 422,
    message: 'A network of the key is no address and no network in CIDR notation.',
    action: 'Write networks like 203.0.113.0/24 or 2001:db8::/32, at most 20.',
  },
  clock_invalid: {
    status: 422,
    message: 'The clock of a workspace only moves forward, and to at most 100 years ahead.',
    action: 'Send a time that is not before the current time of the clock.',
  },
} as const satisfies Record<string, RefusalRow>;

/** HTTP, limits and failures of the service: 405 to 431, 429 and 5xx. */
const PROTOCOL = {
  method_not_allowed: {
    status: 405,
    message: 'The path exists, but not for this method.',
    action: 'Use one of the methods in the Allow header.',
  },
  not_acceptable: {
    status: 406,
    message: 'The response is not available in any media type that the Accept header allows.',
    action: 'Accept application/json.',
  },
  request_timeout: {
    status: 408,
    message: 'The request did not arrive completely in time.',
    action: 'Send the request again, on a new connection.',
  },
  filters_too_slow: {
    status: 422,
    message: 'The page could not be read within 4 seconds, because few of very many rows match all of its filters.',
    action: 'Narrow the period, or leave out one of the filters. The same request may be refused again.',
  },
  cursor_expired: {
    status: 410,
    message: 'Events behind the cursor were deleted because of their age, so the reader has missed some.',
    action: 'Read the resources that you store, then list the events again without a cursor.',
  },
  precondition_failed: {
    status: 412,
    message: 'A condition in a header of the request, such as If-Match, is not met.',
    action: 'Read the file again without the condition.',
  },
  payload_too_large: {
    status: 413,
    message: 'The body is larger than the operation accepts.',
    action: 'Send a body of at most 65536 bytes.',
  },
  uri_too_long: {
    status: 414,
    message: 'The path or the query is longer than the service accepts.',
    action: 'Send a shorter path and query.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'The operation does not accept the media type of the body.',
    action: 'Send Content-Type: application/json.',
  },
  headers_too_large: {
    status: 431,
    message: 'The headers are larger than the service accepts.',
    action: 'Send fewer or shorter headers.',
  },
  rate_limited: {
    status: 429,
    message: 'The caller sent more requests than the rate limit allows.',
    action: 'Wait for the seconds in Retry-After, then try again.',
  },
  internal_error: {
    status: 500,
    message: 'The service failed unexpectedly.',
    action: 'Report the requestId. Trying again is safe for reads.',
  },
  upstream_error: {
    status: 502,
    message: 'The upstream service failed or returned an invalid response.',
    action:
      'Send a read again later. A write may have been executed: read the current state, or send the same request with the key in the Idempotency-Key header.',
  },
  upstream_timeout: {
    status: 504,
    message: 'The upstream service did not respond in time.',
    action:
      'Send a read again. A write may have been executed: read the current state, or send the same request with the key in the Idempotency-Key header.',
  },
  unavailable: {
    status: 503,
    message: 'The service is temporarily unavailable. The request was not executed.',
    action: 'Wait for the seconds in Retry-After, then send the request again.',
  },
  outcome_unknown: {
    status: 504,
    errorCode: 'unavailable',
    message: 'The request may have been executed.',
    action:
      'Send the same request again with the same Idempotency-Key. Without a key, first look for its externalReference, or in the list of what it creates or changes.',
  },
} as const satisfies Record<string, RefusalRow>;

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
