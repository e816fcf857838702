import { ConnectionError, OutcomeUnknownError, RemoteRefusal, ServiceError } from '@banking/client';
import { SessionError } from '@banking/client/session';
import { Refusal, type RefusalDetail, type RefusalReason } from '@banking/domain';
import type { OperationId } from '../access/matrix.js';
import { StatementError } from '../accounts/statement-csv.js';
import { ConfigError } from '@banking/process';
import type { ErrorAnswer } from '../http/error-answer.js';

/** What our caller is told when the upstream did not do what they asked for, and what the log is told. */
export interface UpstreamFailure {
  readonly answer: ErrorAnswer;
  /** What was wrong, without anybody's data. Nothing where the upstream refused our caller and that is all. */
  readonly why?: string;
  /** Whether it is about our own credential: then nobody is served until that is mended. */
  readonly isCredential?: boolean;
  /** To repeat the request with: whether it was carried out is not known. */
  readonly idempotencyKey?: string | undefined;
}

/** The user lists, from which we know who our callers are, could not be read. That is never a caller's own doing. */
export class UserListsError extends Error {
  override readonly name = 'UserListsError';
}

/** After how many seconds the user lists may be read again, where the upstream answered 429; undefined for any other failure. */
export function limitedFor(thrown: unknown): number | undefined {
  const cause = thrown instanceof UserListsError ? thrown.cause : thrown;
  if (!(cause instanceof RemoteRefusal || cause instanceof ServiceError) || cause.status !== 429) return undefined;
  return Math.max(1, cause.retryAfterSeconds ?? 1);
}

/** What only the sender of a request is to blame for, and that was us: our caller's request has passed the same checks here. */
const OUR_OWN_STATUSES: readonly number[] = [405, 406, 408, 413, 414, 415, 431];
const OUR_OWN_REASONS: readonly RefusalReason[] = ['workspace_id_required', 'workspace_id_invalid', 'request_malformed', 'header_repeated']; // prettier-ignore

/** What is not there, where an upstream says 404 without a word of the table: the published interface has none. */
const NOT_FOUND: Partial<Readonly<Record<OperationId, RefusalReason>>> = {
  listAppUsers: 'app_not_found',
  listCorridors: 'country_unknown',
  listRecipientSchemas: 'corridor_not_found',
  addInternationalRecipient: 'corridor_not_found',
  getRecipient: 'recipient_not_found',
  changeRecipient: 'recipient_not_found',
  forgetRecipient: 'recipient_not_found',
  getAccount: 'account_not_found',
  changeAccount: 'account_not_found',
  getStatement: 'account_not_found',
  fundAccount: 'account_not_found',
  createQuote: 'account_not_found',
  getQuote: 'quote_unknown',
  placeOrder: 'account_not_found',
  getOrder: 'order_not_found',
  cancelOrder: 'order_not_found',
  resumeOrder: 'order_not_found',
  getTransfer: 'transfer_not_found',
  addTransactionEvent: 'transaction_not_found',
};

/**
 * The one place that turns what the client throws into what our caller gets. A refusal of what they asked for is passed on. What is
 * between the upstream and us (a credential, a limit, a request it did not understand) and what cannot be believed is ours: 502, 503
 * or 504, and the details are for the log.
 *
 * @param operation what our caller asked for; undefined where we asked for ourselves, and nothing is meant for them
 * @returns undefined for what no upstream has caused
 */
export function upstreamFailure(thrown: unknown, operation: OperationId | undefined): UpstreamFailure | undefined {
  if (thrown instanceof UserListsError) return unsent(thrown.cause) ?? failureOf(thrown.cause, undefined);
  if (!(thrown instanceof OutcomeUnknownError)) return failureOf(thrown, operation);
  const { cause, idempotencyKey } = thrown;
  const failure = failureOf(cause, operation) ?? outage('upstream_error', 'the request was given up');
  return unsent(cause) ?? { ...failure, answer: inDoubt(failure.answer, cause), idempotencyKey };
}

/** What a gateway itself says of a change that may have been made. To a caller it means the same as `outcome_unknown`. */
const GATEWAY_REASONS: readonly string[] = ['upstream_error', 'upstream_timeout'] satisfies RefusalReason[];

/** Of a change that may have been made it is never said that nothing was done: a bare 503 may come from a proxy. */
function inDoubt(answer: ErrorAnswer, cause: unknown): ErrorAnswer {
  const told = cause instanceof RemoteRefusal && cause.reason === 'outcome_unknown' ? cause : undefined;
  if (told === undefined && GATEWAY_REASONS.includes(answer.reason)) return answer;
  const { retryAfterSeconds } = told ?? answer;
  return new Refusal('outcome_unknown', undefined, { retryAfterSeconds });
}

/** What our own circuit has refused: it is no answer, and nothing is in doubt. */
function unsent(cause: unknown): UpstreamFailure | undefined {
  return cause instanceof Refusal && !(cause instanceof RemoteRefusal) ? { answer: cause } : undefined;
}

function failureOf(thrown: unknown, operation: OperationId | undefined): UpstreamFailure | undefined {
  if (thrown instanceof RemoteRefusal) return ofRefusal(thrown, operation);
  if (thrown instanceof ServiceError) return ofUnknownAnswer(thrown, operation);
  if (thrown instanceof ConnectionError) return outage(thrown.timedOut ? 'upstream_timeout' : 'upstream_error', thrown.message); // prettier-ignore
  if (thrown instanceof StatementError) return outage('upstream_error', thrown.message);
  const why = credentialTrouble(thrown);
  return why === undefined ? undefined : { ...outage('unavailable', why), isCredential: true };
}

/** Why there is no credential to show, where that is what was thrown; it names a file or an address, and no token. */
export function credentialTrouble(thrown: unknown): string | undefined {
  if (thrown instanceof ConfigError) return thrown.mistakes.join(' ');
  if (thrown instanceof SessionError) return credentialTrouble(thrown.cause) ?? thrown.message;
  return undefined;
}

function ofRefusal(refusal: RemoteRefusal, operation: OperationId | undefined): UpstreamFailure {
  const { status, reason } = refusal;
  const why = `it answered ${status} ${reason}`;
  if (reason === 'upstream_timeout') return outage(reason, why);
  if (reason === 'unavailable') return outage(reason, why, refusal.retryAfterSeconds);
  const isOurs = OUR_OWN_REASONS.includes(reason) || operation === undefined;
  return (
    betweenUs(refusal, why, operation) ??
    (isRefused(status) && !isOurs ? { answer: bounded(refusal) } : outage('upstream_error', why))
  );
}

/** A reason we do not know, or none, passes with the sentence it came with; what is no error of the interface does not. */
function ofUnknownAnswer(error: ServiceError, operation: OperationId | undefined): UpstreamFailure {
  const { status, errorCode, reason, message, retryAfterSeconds } = error;
  const body = (error.body ?? {}) as { readonly message?: unknown; readonly details?: unknown };
  // Of a success or a redirect the sentence is the client's own, of an error it may be anybody's.
  const why = status < 400 ? message : `it answered ${status} ${[reason, errorCode].find(isWord) ?? ''}`.trimEnd();
  const passed = betweenUs(error, why, operation);
  if (passed) return passed;
  if (!isRefused(status) || errorCode === undefined || typeof body.message !== 'string' || operation === undefined) {
    return outage('upstream_error', why);
  }
  const word = reason ?? (status === 404 ? NOT_FOUND[operation] : undefined) ?? errorCode;
  const details = detailsIn(body.details);
  const answer = { status, errorCode, message, reason: word, ...(details && { details }), ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }; // prettier-ignore
  return { answer: bounded(answer) };
}

/** What may name an error in the log: anything else that is said there could be somebody's data. */
const isWord = (text: string | undefined) => text !== undefined && /^[a-z_]{1,64}$/i.test(text);

const isRefused = (status: number) => status >= 400 && status < 500 && !OUR_OWN_STATUSES.includes(status);

/** What the upstream says of us and not of our caller's request. */
function betweenUs(
  { status, retryAfterSeconds }: Pick<ServiceError, 'status'> & { readonly retryAfterSeconds?: number | undefined },
  why: string,
  operation: OperationId | undefined,
): UpstreamFailure | undefined {
  switch (status) {
    case 401:
      return { ...outage('unavailable', `the upstream does not accept our credential: ${why}`), isCredential: true };
    case 403:
      return { ...outage('unavailable', `our credential may not do this at the upstream: ${why}`), isCredential: true };
    case 429:
      // Of what our caller asked for, nothing was done, and they may know it.
      return outage(operation === undefined ? 'unavailable' : 'rate_limited', why, retryAfterSeconds);
    case 503:
      return retryAfterSeconds === undefined ? undefined : outage('unavailable', why, retryAfterSeconds);
    default:
      return undefined;
  }
}

const outage = (reason: RefusalReason, why: string, retryAfterSeconds?: number): UpstreamFailure => ({
  answer: new Refusal(reason, undefined, { retryAfterSeconds }),
  why,
});

/** More than any refusal of ours says. */
const SAID_MAX = { characters: 1_000, details: 100 };

/** A refusal as it passes: its words as they were sent, and no more of them than a person reads. */
function bounded({ status, errorCode, message, reason, details, retryAfterSeconds }: ErrorAnswer): ErrorAnswer {
  const short = (text: string) => text.slice(0, SAID_MAX.characters);
  return {
    status,
    errorCode: short(errorCode),
    message: short(message),
    reason: short(reason),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(details && {
      details: details.slice(0, SAID_MAX.details).map((detail) => ({ path: short(detail.path), reason: short(detail.reason), message: short(detail.message) })), // prettier-ignore
    }),
  };
}

/** Details of the shape the interface gives them; undefined where there is none. */
function detailsIn(details: unknown): readonly RefusalDetail[] | undefined {
  const list = Array.isArray(details) ? details.filter(isDetail) : [];
  return list.length > 0 ? list : undefined;
}

function isDetail(value: unknown): value is RefusalDetail {
  if (typeof value !== 'object' || value === null) return false;
  const { path, reason, message } = value as Partial<Record<keyof RefusalDetail, unknown>>;
  return [path, reason, message].every((text) => typeof text === 'string');
}
