import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import {
  closeUnusedConnections,
  ConnectionAge,
  Continuation,
  isBodyIgnored,
  keepHeldConnections,
  limitConnections,
  limitConnectionsPerAddress,
} from './connections.js';
import { respondToPreflight, SECURITY_HEADERS } from './security-headers.js';
import { boundHandlers } from './handler-deadline.js';
import { jsonBytes, readJsonBodies } from './json.js';
import { HANDLER_TIMEOUT_MS, LIMITS, WITHDRAW_AFTER_MS } from './limits.js';
import { setPublicPath } from './public-url.js';
import { bodyOf, refuseBrokenPath, refuseBrokenRequest } from './refusal.filter.js';
import { checkHead, checkRest, indexRoutes, originFormOf, routeRefusal, sourceOf } from './request-head.js';
import { logRequests } from './request-log.js';

/** A client's request id is used if it is safe in a log line and a header. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** @param trustedProxies the proxies whose `X-Forwarded-For` is read. Default: none */
export function createServer(logger: FastifyBaseLogger, trustedProxies = new BlockList()): FastifyAdapter {
  const options = {
    loggerInstance: withoutUrls(logger),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    // A logger of its own for each request costs more than its one line: the line names the request itself.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    genReqId: ({ headers }: { headers: Record<string, unknown> }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    },
    rewriteUrl: ({ url = '' }: IncomingMessage) => originFormOf(url),
    bodyLimit: LIMITS.bodyBytes,
    connectionTimeout: LIMITS.idleTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    routerOptions: { maxParamLength: LIMITS.parameterLength },
    forceCloseConnections: 'idle',
    // Requests that arrive during the shutdown are served: the books stay open until the last response is sent.
    return503OnClosing: false,
    http: {
      headersTimeout: LIMITS.headersTimeoutMs,
      connectionsCheckingInterval: LIMITS.checkConnectionsEveryMs,
      maxHeaderSize: LIMITS.headerBytes,
    },
    clientErrorHandler: (error: Error & { code?: string }, socket: Socket) =>
      refuseBrokenRequest(error, socket, logger),
    frameworkErrors: refuseBrokenPath(LIMITS.parameterLength, trustedProxies),
  };
  const adapter = new FastifyAdapter(options as FastifyServerOptions<Server>);
  const server = adapter.getInstance<FastifyInstance>();
  // Node would silently drop headers over its limit, a second credential included. `checkHead` counts them instead.
  server.server.maxHeadersCount = 0;
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1). Node's own response would have no body.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  server.addHook('onRequest', (request, _reply, done) => {
    request.sourceAddress = sourceOf(request, trustedProxies);
    done();
  });
  return adapter;
}

/** Fastify quotes the URL of a request in texts and errors that it logs as warnings. */
function withoutUrls(logger: FastifyBaseLogger): FastifyBaseLogger {
  const warn = (what: unknown, ...rest: string[]) => {
    const err = (what as { readonly err?: { readonly code?: string } } | undefined)?.err;
    if (typeof what !== 'string' && err === undefined) logger.warn(what, ...rest);
    else logger.warn({ code: err?.code }, 'warning of the HTTP library');
  };
  return Object.assign(Object.create(logger) as FastifyBaseLogger, { warn });
}

export interface ServerOptions {
  readonly access: {
    /** Authorizes a request from its head. @throws Refusal */
    admit(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  };
  /** Whether the process received a signal to stop. */
  readonly draining: { readonly begun: boolean };
  readonly connections?: number;
  readonly connectionsPerAddress?: number;
  readonly isCrossOrigin?: boolean;
  readonly publicUrl?: string | undefined;
  /** Adds hooks that run for every request before its access is checked. */
  readonly watch?: ((server: FastifyInstance) => void) | undefined;
}

/**
 * Adds the hooks of every request. Call it before the first route is registered. The order: headers of every response, size of the head,
 * route, authorization, other headers. Fastify then reads the body.
 */
export function prepareServer(
  server: FastifyInstance,
  {
    access,
    draining,
    connections = LIMITS.connections,
    connectionsPerAddress = LIMITS.connections,
    isCrossOrigin = false,
    publicUrl,
    watch,
  }: ServerOptions,
): void {
  setPublicPath(server, publicUrl);
  readJsonBodies(server);
  sendJsonAsBytes(server);
  closeUnusedConnections(server);
  limitConnectionsPerAddress(server, connectionsPerAddress);
  limitConnections(server, connections);
  const routes = indexRoutes(server);
  const age = new ConnectionAge();
  const continuation = new Continuation(server.server as Server);
  boundHandlers(server, { withdrawAfterMs: WITHDRAW_AFTER_MS, respondAfterMs: HANDLER_TIMEOUT_MS });
  keepHeldConnections(server, draining);
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
    if (age.isOver(request) || draining.begun || isBodyIgnored(request)) reply.header('connection', 'close');
    done();
  });
  watch?.(server);
  // Always asynchronous, so that an error of the HTTP parser in the body is reported before a refusal by these checks.
  server.addHook('onRequest', async (request, reply) => {
    checkHead(request);
    if (isCrossOrigin && respondToPreflight(request, reply)) return reply;
    const refusal = routeRefusal(routes, request, reply);
    if (refusal && (request.is404 || request.method !== 'OPTIONS')) throw refusal;
    // The library's route for OPTIONS does not use the error handler of Nest.
    if (refusal) request.reason = refusal.reason;
    if (refusal) return reply.code(refusal.status).send(bodyOf(refusal, request.id));
    await access.admit(request, reply);
    checkRest(request);
    continuation.send(request, reply);
    return undefined;
  });
  logRequests(server);
}

/**
 * Node would join a text with the head of its response, and reserve three bytes for each character of both. Bytes are sent as they are.
 */
function sendJsonAsBytes(server: FastifyInstance): void {
  // Fastify accepts bytes, although its types declare a text only.
  const bytesOf = (payload: unknown) => (Buffer.isBuffer(payload) ? payload : jsonBytes(payload)) as unknown as string;
  server.setReplySerializer(bytesOf);
}
