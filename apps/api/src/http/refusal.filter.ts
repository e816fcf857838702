import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Inject,
  Logger,
  Optional,
} from '@nestjs/common';
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import {
  ApprovalPending,
  type ErrorBody,
  Refusal,
  type RefusalDetail,
  type RefusalReason,
  RETRY_AFTER_S,
} from '@banking/domain';
import { responseChannel } from '@banking/telemetry';
import { closeAfterDraining, mustCloseAfter } from './connections.js';
import { Field } from './field.decorator.js';
import { publicReference } from './public-url.js';
import { sourceAddressOf, sourceOf } from './request-head.js';
import { logRequest } from './request-log.js';

export class ErrorDetailDto implements RefusalDetail {
  @Field('ours', { description: 'The field, header or parameter at fault.', example: 'transferId' })
  readonly path!: string;

  @Field('ours', { description: 'A stable code for the fault.', example: 'id_malformed' })
  readonly reason!: string;

  @Field('ours', { description: 'What to change.', example: 'Send the id exactly as an earlier answer gave it.' })
  readonly message!: string;

  @Field('ours', {
    allOf: [{ $ref: '#/components/schemas/LimitDto' }],
    description: 'Of `limit_exceeded`: the limit as `GET /limits` returns it, with `used` and `resetsAt`.',
    example: {
      ...{ scope: 'workspace', metric: 'amount', per: 'day', value: '1000000', currency: 'EUR' },
      ...{ used: '900000', resetsAt: '2026-11-22T00:00:00.000000Z' },
    },
    selfRequired: false,
  })
  readonly limit?: NonNullable<RefusalDetail['limit']>;
}

export class ErrorDto implements ErrorBody {
  @Field('stated', { description: 'The kind of error.', example: 'invalid_request' })
  readonly errorCode!: string;

  @Field('stated', {
    description: 'What is wrong, for people.',
    example: 'There is no such transfer in this workspace.',
  })
  readonly message!: string;

  @Field('ours', {
    description: 'A stable code for programs: one row of the table of refusals.',
    example: 'transfer_not_found',
  })
  readonly reason!: string;

  @Field('ours', {
    description: 'The request id, equal to the header `X-Request-Id`. Name it in support requests.',
    example: '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b',
  })
  readonly requestId!: string;

  @Field('ours', { description: 'The parts of the request at fault.', type: () => [ErrorDetailDto], required: false })
  readonly details?: readonly ErrorDetailDto[];
}

/** An error as a client gets it. A `Refusal` is one. An upstream may also use reasons that our table does not have. */
export interface ErrorResponse {
  readonly status: number;
  readonly errorCode: string;
  readonly message: string;
  readonly reason: string;
  readonly details?: readonly RefusalDetail[];
  readonly retryAfterSeconds?: number;
}

/** For responses that are written where no hook runs. */
const BARE_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};

/** The body of an error: the two published fields first, then ours. */
export function bodyOf({ errorCode, message, reason, details }: ErrorResponse, requestId: string): ErrorBody {
  return { errorCode, message, reason, requestId, ...(details && { details }) };
}

/** An error that is no `Refusal`, translated for the client and for the log. */
export interface TranslatedError {
  readonly response: ErrorResponse;
  /** For the log, without personal data. Missing if there is nothing to log. */
  readonly why?: string;
  /** Whether an operator has to act: the line is then logged as an error. */
  readonly needsOperator?: boolean;
}

/**
 * Translates the errors of the implementation behind the port.
 *
 * @returns undefined for an error of this service
 */
export type TranslateError = (thrown: unknown, operation: string | undefined) => TranslatedError | undefined;

/** The injection token of a {@link TranslateError}. Our own books need none: they throw refusals. */
export const TRANSLATE_ERROR = Symbol('TranslateError');

/** Is told of each refusal before it is sent. */
export type NoteRefusal = (request: FastifyRequest) => void;

/** The injection token of a {@link NoteRefusal}. */
export const NOTE_REFUSAL = Symbol('NoteRefusal');

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

  constructor(
    @Optional() @Inject(TRANSLATE_ERROR) private readonly translate: TranslateError = () => undefined,
    @Optional() @Inject(NOTE_REFUSAL) private readonly note: NoteRefusal = () => undefined,
  ) {}

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
    this.note(request);
    // The router reports an unreadable path without running a hook.
    if (!reply.hasHeader('X-Request-Id')) reply.headers({ ...BARE_HEADERS, 'X-Request-Id': request.id });
    if (refusal.status === 401 && !reply.hasHeader('WWW-Authenticate')) reply.header('WWW-Authenticate', 'Bearer');
    if (hasRetryAfter(refusal)) reply.header('Retry-After', retryAfterOf(refusal));
    const idempotencyKey = keyInDoubt(refusal, request);
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

/** To a caller, every 502 and 504 means that the request may have been carried out. With its key, repeating it is safe. */
const keyInDoubt = ({ status }: ErrorResponse, { idempotencyKey }: FastifyRequest) =>
  status === 502 || status === 504 ? idempotencyKey : undefined;

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

/** The headers of a request that cannot be read name no client. */
const NO_PROXIES = new BlockList();

/** Refuses a path that the router cannot read. No hook has run then. */
export function refuseBrokenPath(parameterLength: number, trustedProxies: BlockList) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const isTooLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH';
    const refusal = isTooLong
      ? new Refusal('request_malformed', `A part of the path is longer than ${parameterLength} characters.`)
      : new Refusal('request_malformed', 'The path is not well-formed: check its percent-encoding.');
    logRequest(request.log, {
      requestId: request.id,
      method: request.method,
      route: 'none',
      status: refusal.status,
      sourceAddress: sourceOf(request, trustedProxies),
      reason: refusal.reason,
      why: error.code,
    });
    publish(request.method, refusal);
    reply
      .headers({ ...BARE_HEADERS, 'X-Request-Id': request.id })
      .code(refusal.status)
      .send(bodyOf(refusal, request.id));
  };
}

const BROKEN: Readonly<Record<string, RefusalReason>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * Refuses a request that Node's parser cannot read. It reaches no route, so the response is written to the socket, in the usual form.
 *
 * If the response to an earlier request of the connection is pending, that one is sent and this request gets none: a client would take
 * it for the response to the earlier request. If the malformed bytes are the body of the request that is being handled, this is its
 * response, unless another one has begun.
 */
export function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket, logger: FastifyBaseLogger): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = new Refusal(BROKEN[error.code ?? ''] ?? 'request_malformed');
  const requestId = randomUUID();
  const sourceAddress = sourceAddressOf(socket.remoteAddress, undefined, NO_PROXIES);
  const { status, reason } = refusal;
  logRequest(logger, { requestId, method: 'none', route: 'none', status, sourceAddress, reason, why: error.code });
  publish('none', refusal);
  const earlier = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage;
  if (earlier?.req.complete) {
    earlier.once('finish', () => socket.end());
    return;
  }
  if (earlier?.headersSent) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(bodyOf(refusal, requestId));
  const lines = [
    `HTTP/1.1 ${refusal.status} ${refusal.errorCode}`,
    ...Object.entries(BARE_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

function publish(method: string, { status, reason }: Refusal): void {
  if (!responseChannel.hasSubscribers) return;
  responseChannel.publish({ method, route: 'none', status, reason, isReplay: false });
}
