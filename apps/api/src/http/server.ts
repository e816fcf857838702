import { randomUUID } from 'node:crypto';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger, type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerOptions, LogController } from 'fastify'; // prettier-ignore
import { Refusal, type RefusalReason } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';
import type { Draining } from '../health/readiness.js';
import { BARE_HEADERS, bodyOf } from './error-answer.js';
import { boundHandlers } from './handler-deadline.js';
import { readJsonBodies } from './json-body.js';
import { hasBrokenQuery } from './query-encoding.js';
import { setPublicPath } from './public-url.js';
import { allowedMethods, indexRoutes, type RouteIndex } from './route-index.js';
import { SECURITY_HEADERS } from './security-headers.js';

/** What takes longer is answered without its handler. */
export const HANDLER_TIMEOUT_MS = 15_000;
/** What waits longer to be carried out is withdrawn: early enough to be answered by its own handler. */
const WITHDRAW_AFTER_MS = 12_000;

/** Every bound on what a client can make the server hold, and for how long. */
const LIMITS = {
  bodyBytes: 64 * 1024,
  headerBytes: 16 * 1024,
  headers: 100,
  urlBytes: 8 * 1024,
  parameterLength: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  idleTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  checkConnectionsEveryMs: 2_000,
  connections: 1_000,
  requestsPerConnection: 1_000,
} as const;

/** A request id we were given is kept when it cannot do harm in a log line or a header. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Headers with one value each. Sent twice, two readers could each believe another one (RFC 9110, section 5.3). */
const SINGLE_HEADERS = new Set(['host', 'content-type', 'content-length', 'idempotency-key', 'accept']);

export function createServer(logger: FastifyBaseLogger): FastifyAdapter {
  const options = {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    // A logger of its own for each request costs more than its one line: the line names the request itself.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    genReqId: ({ headers }: { headers: Record<string, unknown> }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    },
    bodyLimit: LIMITS.bodyBytes,
    connectionTimeout: LIMITS.idleTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    routerOptions: { maxParamLength: LIMITS.parameterLength },
    forceCloseConnections: 'idle',
    // What still arrives while we close is answered: the books stay open until the last answer is out.
    return503OnClosing: false,
    http: {
      headersTimeout: LIMITS.headersTimeoutMs,
      connectionsCheckingInterval: LIMITS.checkConnectionsEveryMs,
      maxHeaderSize: LIMITS.headerBytes,
    },
    clientErrorHandler: (error: Error & { code?: string }, socket: Socket) =>
      refuseBrokenRequest(error, socket, logger),
    frameworkErrors: refuseBrokenPath,
  };
  const adapter = new FastifyAdapter(options as FastifyServerOptions<Server>);
  const server = adapter.getInstance<FastifyInstance>();
  server.server.maxConnections = LIMITS.connections;
  // Node would drop what is over the limit without a word, and a second credential with it: we count, and refuse.
  server.server.maxHeadersCount = 0;
  // An expectation we do not know may be ignored (RFC 9110, section 10.1.1); Node's own answer would have no body.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  return adapter;
}

/** Whether a body comes that nobody will read: after the answer, the connection cannot carry another request. */
function isUnread({ method, headers, is404 }: FastifyRequest): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  return hasBody && (is404 || ['GET', 'HEAD', 'OPTIONS'].includes(method));
}

function noRoute(routes: RouteIndex, { url }: FastifyRequest, reply: FastifyReply): Refusal {
  const methods = allowedMethods(routes, url);
  if (methods.length === 0) return new Refusal('route_not_found');
  reply.header('Allow', methods.join(', '));
  return new Refusal('method_not_allowed', `This path answers ${methods.join(', ')}.`);
}

/** Counts the requests of each connection. Node's own limit sends `Connection: close` too, but leaves the closing to the client. */
class ConnectionAge {
  private readonly requests = new WeakMap<Socket, number>();

  /** Whether this request is to be the last of its connection. */
  isOver({ raw: { socket } }: FastifyRequest): boolean {
    const count = (this.requests.get(socket) ?? 0) + 1;
    this.requests.set(socket, count);
    return count >= LIMITS.requestsPerConnection;
  }
}

/**
 * Closes, when the server closes, connections on which nothing was ever said: a browser and many a client open them in advance. Node
 * counts them among those that are busy, and would wait for them.
 */
function closeSilentConnections(server: FastifyInstance): void {
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.addHook('preClose', (done) => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    done();
  });
}

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  const seen: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    if (!SINGLE_HEADERS.has(name)) continue;
    if (seen.includes(name)) return name;
    seen.push(name);
  }
  return undefined;
}

/** What is wrong with a request before anything is known of its operation. */
function objectionTo(request: FastifyRequest, reply: FastifyReply, routes: RouteIndex): Refusal | undefined {
  const { rawHeaders } = request.raw;
  if (request.url.length > LIMITS.urlBytes) return new Refusal('uri_too_long');
  if (rawHeaders.length / 2 > LIMITS.headers) return new Refusal('headers_too_large');
  if (request.is404) return noRoute(routes, request, reply);
  // A body packed by a coding could be any size once unpacked.
  if (!['', 'identity'].includes((request.headers['content-encoding'] ?? '').toLowerCase()))
    return new Refusal('unsupported_media_type');
  if (hasBrokenQuery(request.url))
    return new Refusal('request_malformed', 'The query is not well-formed: check its percent-encoding.');
  const repeated = repeatedHeader(rawHeaders);
  return repeated === undefined ? undefined : new Refusal('header_repeated', `Send the header ${repeated} once.`);
}

/** What happens around every request, in this order. Before the first route is registered. */
export function prepareServer(server: FastifyInstance, draining: Draining, publicUrl?: string): void {
  setPublicPath(server, publicUrl);
  readJsonBodies(server);
  closeSilentConnections(server);
  const routes = indexRoutes(server);
  const age = new ConnectionAge();
  boundHandlers(server, { withdrawAfterMs: WITHDRAW_AFTER_MS, answerAfterMs: HANDLER_TIMEOUT_MS });
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
    const isBodyUnread = isUnread(request);
    if (age.isOver(request) || draining.begun || isBodyUnread) reply.header('connection', 'close');
    const objection = objectionTo(request, reply, routes);
    // What the parser finds wrong with such a body comes before what we would say.
    if (isBodyUnread) queueMicrotask(() => done(objection));
    else done(objection);
  });
  server.addHook('onResponse', (request: FastifyRequest & CalledRequest, reply, done) => {
    request.log.info(
      {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        userId: request.userId,
        workspaceId: request.caller?.workspaceId,
        why: request.why?.slice(0, 200),
      },
      'request',
    );
    done();
  });
}

/** What the router refuses before there is a route, and so before any hook. */
function refuseBrokenPath(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const isTooLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH';
  const refusal = isTooLong
    ? new Refusal('request_malformed', `A part of the path is longer than ${LIMITS.parameterLength} characters.`)
    : new Refusal('request_malformed', 'The path is not well-formed: check its percent-encoding.');
  request.log.info(
    { requestId: request.id, method: request.method, route: 'none', status: refusal.status, why: error.code },
    'request',
  );
  reply
    .headers({ ...BARE_HEADERS, 'X-Request-Id': request.id })
    .code(refusal.status)
    .send(bodyOf(refusal, request.id));
}

const BROKEN: Readonly<Record<string, RefusalReason>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * What Node's parser refuses reaches no route: the answer is written by hand, in the same form. Where the answer to an earlier
 * request of the same connection is still to come, that one goes out and this one gets none: it would be taken for the other's.
 * Where the broken bytes are the body of the request that is being answered, this is its answer, unless another has begun.
 */
function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket, logger: FastifyBaseLogger): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = new Refusal(BROKEN[error.code ?? ''] ?? 'request_malformed');
  const requestId = randomUUID();
  logger.info({ requestId, method: 'none', route: 'none', status: refusal.status, why: error.code }, 'request');
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
