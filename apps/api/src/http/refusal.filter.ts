import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal, type RefusalReason } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';
import { CredentialError } from '../access/token-verifier.js';
import { type UpstreamFailure, upstreamFailure } from '../upstream/upstream-failure.js';
import { BARE_HEADERS, bodyOf, type ErrorAnswer } from './error-answer.js';
import { closeAfterDraining, mustCloseAfter } from './unread-body.js';

/** The rows of what libraries refuse: Fastify, Nest, and those that throw as `http-errors` does. */
const BY_STATUS: Readonly<Record<number, RefusalReason>> = {
  400: 'request_malformed',
  404: 'route_not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  408: 'request_timeout',
  412: 'precondition_failed',
  413: 'payload_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
  503: 'unavailable',
};

/** The default, where a refusal that must name a time does not; and the most, or whoever believes an upstream never comes back. */
const RETRY_AFTER_S = { usual: 1, most: 3_600 };

/** Turns what was thrown into an answer: refusals as their table says, everything else a bug without a word of detail. */
@Catch()
export class RefusalFilter implements ExceptionFilter {
  private readonly logger = new Logger(RefusalFilter.name);

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest & CalledRequest>();
    const reply = http.getResponse<FastifyReply>();
    const failure = upstreamFailure(thrown, request.operation);
    const refusal = failure ? this.ofUpstream(failure, request) : this.ofOurs(thrown, request);
    if (reply.sent) return;
    // The router hands a path it cannot read to us without running a hook.
    if (!reply.hasHeader('X-Request-Id')) reply.headers({ ...BARE_HEADERS, 'X-Request-Id': request.id });
    if (refusal.status === 401) reply.header('WWW-Authenticate', 'Bearer');
    if (mustSayWhen(refusal)) reply.header('Retry-After', whenToRetry(refusal));
    const idempotencyKey = failure === undefined ? keyInDoubt(refusal, request) : failure.idempotencyKey;
    if (idempotencyKey !== undefined) reply.header('Idempotency-Key', idempotencyKey);
    // After a request whose body was not read to its end, the connection cannot carry another.
    if (mustCloseAfter(request)) closeAfterDraining(request, reply);
    else if (refusal.status === 408 || refusal.status === 413) reply.header('Connection', 'close');
    reply.code(refusal.status).type('application/json; charset=utf-8').send(bodyOf(refusal, request.id));
  }

  private ofUpstream(
    { answer, why, isCredential = false }: UpstreamFailure,
    { id: requestId }: FastifyRequest,
  ): ErrorAnswer {
    if (why !== undefined) this.logger[isCredential ? 'error' : 'warn']({ why, requestId }, answer.message);
    return answer;
  }

  private ofOurs(thrown: unknown, request: FastifyRequest & CalledRequest): ErrorAnswer {
    const refusal = refusalOf(thrown, request);
    const { cause } = refusal;
    if (refusal.reason === 'internal_error') {
      this.logger.error({ err: thrown, requestId: request.id }, 'a bug');
    } else if (refusal.reason === 'outcome_unknown') {
      this.logger.warn({ why: messageOf(cause), requestId: request.id }, 'outcome unknown');
    } else if (refusal.reason === 'unavailable' && cause !== undefined) {
      this.logger.warn({ why: messageOf(cause), requestId: request.id }, refusal.message);
    } else if (cause instanceof CredentialError) {
      request.why = cause.message;
    }
    return refusal;
  }
}

const WITH_RETRY_AFTER: readonly string[] = ['idempotency_in_progress', 'outcome_unknown'] satisfies RefusalReason[];

const mustSayWhen = ({ status, reason, retryAfterSeconds }: ErrorAnswer) =>
  status === 429 || status === 503 || WITH_RETRY_AFTER.includes(reason) || retryAfterSeconds !== undefined;

/** The key to repeat the request with, where the caller sent one and the outcome is not known. */
const keyInDoubt = ({ reason }: ErrorAnswer, { idempotencyKey }: CalledRequest) =>
  reason === 'outcome_unknown' ? idempotencyKey : undefined;

const messageOf = (cause: unknown): string | undefined => (cause instanceof Error ? cause.message : undefined);

const whenToRetry = ({ retryAfterSeconds = RETRY_AFTER_S.usual }: ErrorAnswer) =>
  String(Math.min(retryAfterSeconds, RETRY_AFTER_S.most));

function refusalOf(thrown: unknown, { url, raw }: FastifyRequest): Refusal {
  if (thrown instanceof Refusal) return thrown;
  // The connection ended or broke within the body, so its handler has not run.
  if (!raw.complete && BROKEN_BODY.test(codeOf(thrown)))
    return new Refusal('request_malformed', undefined, { cause: thrown });
  const status = statusOf(thrown);
  if (status === 404 && !isDecodable(url)) return new Refusal('request_malformed', undefined, { cause: thrown });
  return new Refusal(reasonOf(status), undefined, { cause: thrown });
}

/** Node's codes for a connection that was closed and for what its parser refuses. */
const BROKEN_BODY = /^(?:ECONNRESET$|HPE_)/;

const codeOf = (thrown: unknown) => String((thrown as { readonly code?: unknown } | undefined)?.code);

function isDecodable(url: string): boolean {
  try {
    decodeURI(url.split('?', 1)[0] ?? '');
    return true;
  } catch {
    return false;
  }
}

/** What a library refuses with a 4xx that has no row is a fault of the request all the same. */
function reasonOf(status = 500): RefusalReason {
  return BY_STATUS[status] ?? (status >= 400 && status < 500 ? 'request_malformed' : 'internal_error');
}

/** The status of an error that a library throws to refuse a request. Any other error with a status is a bug of ours. */
function statusOf(thrown: unknown): number | undefined {
  if (thrown instanceof HttpException) return thrown.getStatus();
  const { code, expose, status, statusCode } = (thrown ?? {}) as Readonly<Record<string, unknown>>;
  const isFastify = typeof code === 'string' && code.startsWith('FST_');
  const isHttpError = typeof expose === 'boolean' && status === statusCode;
  return (isFastify || isHttpError) && typeof statusCode === 'number' ? statusCode : undefined;
}
