import { ConnectionError, OutcomeUnknownError, RemoteRefusal, ServiceError } from '@banking/client';
import { SessionError } from '@banking/client/session';
import {
  type Operation,
  type OperationName,
  OPERATIONS,
  Refusal,
  type RefusalDetail,
  type RefusalReason,
  REFUSALS,
} from '@banking/domain';
import { StatementError } from '../accounts/statement-file.js';
import { ConfigError } from '@banking/process';
import type { ErrorResponse, TranslatedError } from '../http/refusal.filter.js';

/** The user lists, which identify callers, could not be read. A caller's request is never the cause. */
export class UserListsError extends Error {
  override readonly name = 'UserListsError';
}

/** After how many seconds the user lists may be read again if the upstream responded 429; undefined for any other failure. */
export function rateLimitedForS(thrown: unknown): number | undefined {
  const cause = thrown instanceof UserListsError ? thrown.cause : thrown;
  if (!(cause instanceof RemoteRefusal || cause instanceof ServiceError) || cause.status !== 429) return undefined;
  return Math.max(1, cause.retryAfterSeconds ?? 1);
}

/** Errors of a request that the gateway itself has caused: its caller's request has passed the same checks in the gateway. */
const GATEWAY_STATUSES: readonly number[] = [405, 406, 408, 413, 414, 415, 431];
const GATEWAY_REASONS: readonly RefusalReason[] = [
  'workspace_id_required',
  'workspace_id_invalid',
  'request_malformed',
  'header_repeated',
];

/** What `operation` is in the table of operations; undefined for another text. */
export const rowOf = (operation: string | undefined): Operation | undefined =>
  operation !== undefined && Object.hasOwn(OPERATIONS, operation) ? OPERATIONS[operation as OperationName] : undefined;

/** The reason for a 404 of an upstream that sends none: the published interface has no reasons. A list always exists. */
const missingOf = (operation: string): RefusalReason | undefined => {
  const { result, refusals, isOptional } = rowOf(operation) ?? {};
  if (isOptional) return 'route_not_found';
  return result === 'page' ? undefined : refusals?.find((reason) => REFUSALS[reason].status === 404);
};

/**
 * Translates errors of the client, in this one place. A refusal of the caller's request is passed on. A failure between the gateway and
 * the upstream (a credential, a rate limit, a malformed request) and an invalid response become 502, 503 or 504, with details in the log.
 *
 * @param operation the operation of the caller; undefined for a request of our own, whose refusals concern no caller
 * @returns undefined for an error that no upstream has caused
 */
export function upstreamFailure(thrown: unknown, operation: string | undefined): TranslatedError | undefined {
  if (thrown instanceof UserListsError) return unsent(thrown.cause) ?? failureOf(thrown.cause, undefined);
  if (!(thrown instanceof OutcomeUnknownError)) return failureOf(thrown, operation);
  const { cause } = thrown;
  // To be sent again soon, also to the upstream.
  if (cause instanceof RemoteRefusal && cause.reason === 'idempotency_in_progress') return failureOf(cause, operation);
  const failure = failureOf(cause, operation) ?? outage('upstream_error', 'the request was abandoned');
  return unsent(cause) ?? { ...failure, response: inDoubt(failure.response, cause) };
}

/** The gateway's own reasons for a change with an unknown outcome. To a caller they mean the same as `outcome_unknown`. */
const IN_DOUBT_REASONS: readonly string[] = ['upstream_error', 'upstream_timeout'] satisfies RefusalReason[];

/** A change that may have been made is never reported as not made: a 503 without a body may come from a proxy. */
function inDoubt(response: ErrorResponse, cause: unknown): ErrorResponse {
  const outcomeUnknown = cause instanceof RemoteRefusal && cause.reason === 'outcome_unknown' ? cause : undefined;
  if (outcomeUnknown === undefined && IN_DOUBT_REASONS.includes(response.reason)) return response;
  const { retryAfterSeconds } = outcomeUnknown ?? response;
  return new Refusal('outcome_unknown', undefined, { retryAfterSeconds });
}

/** A refusal of our circuit breaker or queue: nothing was sent, so nothing is in doubt. */
function unsent(cause: unknown): TranslatedError | undefined {
  return cause instanceof Refusal && !(cause instanceof RemoteRefusal) ? { response: cause } : undefined;
}

function failureOf(thrown: unknown, operation: string | undefined): TranslatedError | undefined {
  if (thrown instanceof RemoteRefusal) return ofRefusal(thrown, operation);
  if (thrown instanceof ServiceError) return ofUnknownError(thrown, operation);
  if (thrown instanceof ConnectionError) {
    return outage(thrown.timedOut ? 'upstream_timeout' : 'upstream_error', thrown.message);
  }
  if (thrown instanceof StatementError) return outage('upstream_error', thrown.message);
  const why = credentialFault(thrown);
  return why === undefined ? undefined : { ...outage('unavailable', why), needsOperator: true };
}

/** Why there is no credential, if that is the error. It names a file or a URL, and no token. */
export function credentialFault(thrown: unknown): string | undefined {
  if (thrown instanceof ConfigError) return thrown.mistakes.join(' ');
  if (thrown instanceof SessionError) return credentialFault(thrown.cause) ?? thrown.message;
  return undefined;
}

function ofRefusal(refusal: RemoteRefusal, operation: string | undefined): TranslatedError {
  const { status, reason } = refusal;
  const why = `status ${status} ${reason}`;
  if (reason === 'upstream_timeout') return outage(reason, why);
  if (reason === 'unavailable') return outage(reason, why, refusal.retryAfterSeconds);
  const isOfGateway = GATEWAY_REASONS.includes(reason) || operation === undefined;
  return (
    gatewayFault(refusal, why, operation) ??
    (isRefused(status) && !isOfGateway ? { response: bounded(refusal) } : outage('upstream_error', why))
  );
}

/** An error with an unknown reason, or none, is passed on with its message. A body that is no error of the interface is not. */
function ofUnknownError(error: ServiceError, operation: string | undefined): TranslatedError {
  const { status, errorCode, reason, message, retryAfterSeconds } = error;
  const body = (error.body ?? {}) as { readonly message?: unknown; readonly details?: unknown };
  // For a success or a redirect the message is the client's own. For an error the upstream wrote it.
  const why = status < 400 ? message : `status ${status} ${[reason, errorCode].find(isCode) ?? ''}`.trimEnd();
  const fault = gatewayFault(error, why, operation);
  if (fault) return fault;
  const row = rowOf(operation);
  // Whatever answers a path that is not there. A change may be in doubt, so its 404 must be one of the interface.
  if (status === 404 && row?.isOptional && row.method === 'GET') {
    return { response: new Refusal('route_not_found', 'The upstream service does not have this operation.') };
  }
  if (!isRefused(status) || errorCode === undefined || typeof body.message !== 'string' || operation === undefined) {
    return outage('upstream_error', why);
  }
  const passedReason = reason ?? (status === 404 ? missingOf(operation) : undefined) ?? errorCode;
  const details = detailsIn(body.details);
  const response = {
    status,
    errorCode,
    message,
    reason: passedReason,
    ...(details && { details }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
  return { response: bounded(response) };
}

/** A code may be logged. Any other text of an error could be personal data. */
const isCode = (text: string | undefined) => text !== undefined && /^[a-z_]{1,64}$/i.test(text);

const isRefused = (status: number) => status >= 400 && status < 500 && !GATEWAY_STATUSES.includes(status);

/** A response that concerns the gateway and not its caller's request. */
function gatewayFault(
  { status, retryAfterSeconds }: Pick<ServiceError, 'status'> & { readonly retryAfterSeconds?: number | undefined },
  why: string,
  operation: string | undefined,
): TranslatedError | undefined {
  switch (status) {
    case 401:
      return { ...outage('unavailable', `the upstream does not accept our credential: ${why}`), needsOperator: true };
    case 403:
      return {
        ...outage('unavailable', `our credential may not do this at the upstream: ${why}`),
        needsOperator: true,
      };
    case 429:
      // The caller may retry: nothing was done.
      return outage(operation === undefined ? 'unavailable' : 'rate_limited', why, retryAfterSeconds);
    case 503:
      return retryAfterSeconds === undefined ? undefined : outage('unavailable', why, retryAfterSeconds);
    default:
      return undefined;
  }
}

const outage = (reason: RefusalReason, why: string, retryAfterSeconds?: number): TranslatedError => ({
  response: new Refusal(reason, undefined, { retryAfterSeconds }),
  why,
});

/** Longer than any refusal of this service. */
const PASSED_MAX = { characters: 1_000, details: 100 };

/** A refusal as it is passed on: unchanged, but cut to a readable length. */
function bounded({ status, errorCode, message, reason, details, retryAfterSeconds }: ErrorResponse): ErrorResponse {
  const cut = (text: string) => text.slice(0, PASSED_MAX.characters);
  return {
    status,
    errorCode: cut(errorCode),
    message: cut(message),
    reason: cut(reason),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(details && {
      details: details.slice(0, PASSED_MAX.details).map(({ limit, ...detail }) => ({
        ...{ path: cut(detail.path), reason: cut(detail.reason), message: cut(detail.message) },
        ...(limit && JSON.stringify(limit).length <= PASSED_MAX.characters && { limit }),
      })),
    }),
  };
}

/** The details that have the shape of the interface, if there are any. */
function detailsIn(details: unknown): readonly RefusalDetail[] | undefined {
  const list = Array.isArray(details) ? details.filter(isDetail) : [];
  return list.length > 0 ? list : undefined;
}

function isDetail(value: unknown): value is RefusalDetail {
  if (typeof value !== 'object' || value === null) return false;
  const { path, reason, message } = value as Partial<Record<keyof RefusalDetail, unknown>>;
  return [path, reason, message].every((text) => typeof text === 'string');
}
