import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Inject,
  Logger,
  Optional,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApprovalPending, Refusal, RETRY_AFTER_S, type RefusalReason } from '@banking/domain';
import {
  BARE_HEADERS,
  bodyOf,
  type ErrorResponse,
  TRANSLATE_ERROR,
  type TranslatedError,
  type TranslateError,
} from './error-response.js';
import { publicReference } from './addresses.js';
import { closeAfterDraining, mustCloseAfter } from './unread-body.js';

/** The reasons for errors of libraries, by status: Fastify, Nest, and those that throw as `http-errors` does. */
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

/** `Retry-After` at most: an excessive time from an upstream would stop a client from retrying. */
const RETRY_AFTER_MAX_S = 3_600;

/** Converts an error to a response: a refusal by its table row, any other error to 500 without details. */
@Catch()
export class RefusalFilter implements ExceptionFilter {
  private readonly logger = new Logger(RefusalFilter.name);

  constructor(@Optional() @Inject(TRANSLATE_ERROR) private readonly translate: TranslateError = () => undefined) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    if (thrown instanceof ApprovalPending) {
      sendPending(reply, thrown);
      return;
    }
    const translated = this.translate(thrown, request.operation);
    const refusal = translated ? this.logged(translated, request) : this.ofOurs(thrown, request);
    request.reason = refusal.reason;
    if (reply.sent) return;
    // The router reports an unreadable path without running a hook.
    if (!reply.hasHeader('X-Request-Id')) reply.headers({ ...BARE_HEADERS, 'X-Request-Id': request.id });
    if (refusal.status === 401 && !reply.hasHeader('WWW-Authenticate')) reply.header('WWW-Authenticate', 'Bearer');
    if (hasRetryAfter(refusal)) reply.header('Retry-After', retryAfterOf(refusal));
    const idempotencyKey = translated === undefined ? keyInDoubt(refusal, request) : translated.idempotencyKey;
    if (idempotencyKey !== undefined) reply.header('Idempotency-Key', idempotencyKey);
    // The connection cannot carry another request if the body of this one was not read to its end.
    if (mustCloseAfter(request)) closeAfterDraining(request, reply);
    else if (refusal.status === 408 || refusal.status === 413) reply.header('Connection', 'close');
    reply.code(refusal.status).type('application/json; charset=utf-8').send(bodyOf(refusal, request.id));
  }

  private logged(
    { response, why, needsOperator = false }: TranslatedError,
    { id: requestId }: FastifyRequest,
  ): ErrorResponse {
    if (why !== undefined) this.logger[needsOperator ? 'error' : 'warn']({ why, requestId }, response.message);
    return response;
  }

  private ofOurs(thrown: unknown, request: FastifyRequest): ErrorResponse {
    const refusal = refusalOf(thrown, request);
    const { cause } = refusal;
    if (refusal.reason === 'internal_error') {
      this.logger.error({ err: thrown, requestId: request.id }, 'unhandled error');
    } else if (refusal.reason === 'outcome_unknown') {
      this.logger.warn({ why: messageOf(cause), requestId: request.id }, 'outcome unknown');
    } else if (refusal.reason === 'unavailable' && cause !== undefined) {
      this.logger.warn({ why: messageOf(cause), requestId: request.id }, refusal.message);
    }
    return refusal;
  }
}

/** An operation that waits for approvals is no error. */
function sendPending(reply: FastifyReply, { approval, isReplay }: ApprovalPending): void {
  if (isReplay) reply.header('idempotent-replayed', 'true');
  if (Number.isSafeInteger(approval.id)) reply.header('location', publicReference(reply, `/approvals/${approval.id}`));
  reply.code(202).type('application/json; charset=utf-8').send({ approval });
}

const WITH_RETRY_AFTER: readonly string[] = ['idempotency_in_progress', 'outcome_unknown'] satisfies RefusalReason[];

const hasRetryAfter = ({ status, reason, retryAfterSeconds }: ErrorResponse) =>
  status === 429 || status === 503 || WITH_RETRY_AFTER.includes(reason) || retryAfterSeconds !== undefined;

const keyInDoubt = ({ reason }: ErrorResponse, { idempotencyKey }: FastifyRequest) =>
  reason === 'outcome_unknown' ? idempotencyKey : undefined;

const messageOf = (cause: unknown): string | undefined => (cause instanceof Error ? cause.message : undefined);

const retryAfterOf = ({ retryAfterSeconds = RETRY_AFTER_S }: ErrorResponse) =>
  String(Math.min(retryAfterSeconds, RETRY_AFTER_MAX_S));

function refusalOf(thrown: unknown, { url, raw }: FastifyRequest): Refusal {
  if (thrown instanceof Refusal) return thrown;
  // The connection ended or failed within the body, so the handler has not run.
  if (!raw.complete && BROKEN_BODY.test(codeOf(thrown)))
    return new Refusal('request_malformed', undefined, { cause: thrown });
  const status = statusOf(thrown);
  if (status === 404 && !isDecodable(url)) return new Refusal('request_malformed', undefined, { cause: thrown });
  return new Refusal(reasonOf(status), undefined, { cause: thrown });
}

/** Node's codes for a closed connection and for errors of its parser. */
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

/** A 4xx of a library without a row here is still an error of the request. */
function reasonOf(status = 500): RefusalReason {
  return BY_STATUS[status] ?? (status >= 400 && status < 500 ? 'request_malformed' : 'internal_error');
}

/** The status of an error that a library throws to refuse a request. Any other error with a status is unhandled. */
function statusOf(thrown: unknown): number | undefined {
  if (thrown instanceof HttpException) return thrown.getStatus();
  const { code, expose, status, statusCode } = (thrown ?? {}) as Readonly<Record<string, unknown>>;
  const isFastify = typeof code === 'string' && code.startsWith('FST_');
  const isHttpError = typeof expose === 'boolean' && status === statusCode;
  return (isFastify || isHttpError) && typeof statusCode === 'number' ? statusCode : undefined;
}
