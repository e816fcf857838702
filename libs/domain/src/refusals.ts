import { AMOUNT_REFUSALS } from './amount-refusal.js';
import { REFUSAL_BRAND, type RefusalOptions, type RefusalRow, RowRefusal } from './refusal.js';

/**
 * Every expected "no" of the service, once.
 *
 * The HTTP answers, the OpenAPI document, the client and the docs page are read from this table, so a reason that is
 * not here cannot be sent, and a reason that is here is documented. Words are stable: a caller may branch on them.
 */
export const REFUSALS = {
  request_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The request is not well-formed HTTP.',
    action: 'Check the request line, the encoding of the path and the framing of the body.',
  },
  header_repeated: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'A header that may appear once was sent more than once.',
    action: 'Send the header once.',
  },
  id_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An id is not a positive whole number of at most 2^53 - 1, written in digits without a leading zero.',
    action: 'Send the id exactly as an earlier answer gave it.',
  },
  workspace_id_required: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The operation belongs to a workspace and the Workspace-ID header is missing.',
    action: 'Send Workspace-ID with the id of a workspace from the roles of the user.',
  },
  workspace_id_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The Workspace-ID header is not an id.',
    action: 'Send the id of one workspace, in digits.',
  },
  amount_malformed: AMOUNT_REFUSALS.amount_malformed,
  amount_out_of_range: AMOUNT_REFUSALS.amount_out_of_range,
  amount_too_precise: AMOUNT_REFUSALS.amount_too_precise,
  body_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The body is not JSON of the shape the operation describes.',
    action: 'Compare the body with the schema of the operation; details names the fields.',
  },
  currency_unknown: AMOUNT_REFUSALS.currency_unknown,
  parameter_unknown: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The query has a parameter that the operation does not know.',
    action: 'Compare the query with the parameters of the operation; details names them.',
  },
  parameter_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'A parameter of the query has a value that the operation does not take.',
    action: 'Compare the value with the parameter of the operation; details names it.',
  },
  limit_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The limit is not a whole number from 1 to 500.',
    action: 'Send a limit from 1 to 500, or none for 100.',
  },
  cursor_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The cursor is not one that a page of this very list gave: same workspace, same filters.',
    action: 'Follow the Link header as it stands, or begin again without a cursor.',
  },
  timestamp_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An instant is not RFC 3339 with an offset, or its day does not exist.',
    action: 'Write it as 2026-11-21T09:30:00Z, or with an offset as in 2026-11-21T10:30:00+01:00.',
  },
  not_authenticated: {
    status: 401,
    errorCode: 'invalid_request',
    meaning: 'The request carries no valid access token.',
    action: 'Obtain a new access token and send it as Authorization: Bearer.',
  },
  workspace_forbidden: {
    status: 403,
    errorCode: 'forbidden',
    meaning: 'The caller has no role in the workspace, or there is no such workspace.',
    action: 'Use a workspace from the roles of the user, or ask its administrator for a role.',
  },
  role_insufficient: {
    status: 403,
    errorCode: 'forbidden',
    meaning: 'The role of the caller in the workspace does not allow the operation.',
    action: 'Ask an administrator of the workspace to do it or to grant the role.',
  },
  transfer_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no transfer with this id.',
    action: 'Check the transfer id and the Workspace-ID.',
  },
  app_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The caller belongs to no app with this id.',
    action: 'Use an id from the list of apps.',
  },
  account_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no account with this id.',
    action: 'Check the account id and the Workspace-ID.',
  },
  recipient_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no recipient with this id.',
    action: 'Check the recipient id and the Workspace-ID.',
  },
  country_unknown: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'There is no country with this code.',
    action: 'Send an ISO 3166-1 code, of two letters or three.',
  },
  route_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'There is no operation at this path.',
    action: 'Compare the path with the OpenAPI document.',
  },
  method_not_allowed: {
    status: 405,
    errorCode: 'method_not_allowed',
    meaning: 'The path exists, but not for this method.',
    action: 'Use one of the methods in the Allow header.',
  },
  not_acceptable: {
    status: 406,
    errorCode: 'not_acceptable',
    meaning: 'The answer is not available in any media type the Accept header allows.',
    action: 'Accept application/json.',
  },
  request_timeout: {
    status: 408,
    errorCode: 'request_timeout',
    meaning: 'The request did not arrive completely in time.',
    action: 'Send it again, on a new connection.',
  },
  payload_too_large: {
    status: 413,
    errorCode: 'payload_too_large',
    meaning: 'The body is larger than the operation reads.',
    action: 'Send a smaller body.',
  },
  uri_too_long: {
    status: 414,
    errorCode: 'uri_too_long',
    meaning: 'The path or the query is longer than the service reads.',
    action: 'Send a shorter path and query.',
  },
  unsupported_media_type: {
    status: 415,
    errorCode: 'unsupported_media_type',
    meaning: 'The body is in a media type the operation does not read.',
    action: 'Send Content-Type: application/json.',
  },
  headers_too_large: {
    status: 431,
    errorCode: 'headers_too_large',
    meaning: 'The headers are larger than the service reads.',
    action: 'Send fewer or shorter headers.',
  },
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
  rate_limited: {
    status: 429,
    errorCode: 'rate_limited',
    meaning: 'The caller sent more requests than it may in this time.',
    action: 'Wait as many seconds as Retry-After says, then try again.',
  },
  internal_error: {
    status: 500,
    errorCode: 'internal_error',
    meaning: 'The service failed in a way it did not expect.',
    action: 'Report the requestId. Trying again is safe for reads.',
  },
  unavailable: {
    status: 503,
    errorCode: 'unavailable',
    meaning: 'The service cannot answer at the moment.',
    action: 'Wait as many seconds as Retry-After says, then try again.',
  },
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
