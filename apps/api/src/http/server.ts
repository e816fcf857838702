import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, type FastifyServerOptions, LogController } from 'fastify'; // prettier-ignore
import type { AccessCheck } from '../access/access-check.js';
import type { CalledRequest } from '../access/caller.js';
import type { Draining } from '../health/readiness.js';
import { refuseBrokenPath, refuseBrokenRequest } from './broken-requests.js';
import { closeSilentConnections, ConnectionAge, limitConnectionsPerAddress } from './connections.js';
import { answerPreflight } from './cross-origin.js';
import { bodyOf } from './error-answer.js';
import { boundHandlers } from './handler-deadline.js';
import { readJsonBodies } from './json-body.js';
import { HANDLER_TIMEOUT_MS, LIMITS, WITHDRAW_AFTER_MS } from './limits.js';
import { setPublicPath } from './public-url.js';
import { checkHead, checkRest, routeRefusal } from './request-head.js';
import { indexRoutes } from './route-index.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { Continuation, isBodyIgnored } from './unread-body.js';

/** A request id we were given is kept when it cannot do harm in a log line or a header. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

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
    frameworkErrors: refuseBrokenPath(LIMITS.parameterLength),
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

/** What requests are checked against before they reach a handler. */
export interface Entry {
  readonly access: AccessCheck;
  readonly draining: Draining;
  /** How many connections one address may hold. */
  readonly connectionsPerAddress?: number;
  /** Whether pages of other origins may call. */
  readonly isCrossOrigin?: boolean;
  /** The address under which callers reach the service. */
  readonly publicUrl?: string | undefined;
  /** Adds hooks that see every request before its access is checked. */
  readonly watch?: ((server: FastifyInstance) => void) | undefined;
}

/**
 * What happens around every request, in this order: headers of every response, size of the head, route, credential, rate, workspace and
 * role, other headers. Then Fastify reads the body. Called before the first route is registered.
 */
export function prepareServer(
  server: FastifyInstance,
  { access, draining, connectionsPerAddress = LIMITS.connections, isCrossOrigin = false, publicUrl, watch }: Entry,
): void {
  setPublicPath(server, publicUrl);
  readJsonBodies(server);
  closeSilentConnections(server);
  limitConnectionsPerAddress(server, connectionsPerAddress);
  const routes = indexRoutes(server);
  const age = new ConnectionAge();
  const continuation = new Continuation(server.server as Server);
  boundHandlers(server, { withdrawAfterMs: WITHDRAW_AFTER_MS, answerAfterMs: HANDLER_TIMEOUT_MS });
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
    if (age.isOver(request) || draining.begun || isBodyIgnored(request)) reply.header('connection', 'close');
    done();
  });
  watch?.(server);
  // Asynchronous also where nothing is waited for: what the parser finds wrong with a body comes before what we would say.
  server.addHook('onRequest', async (request: FastifyRequest & CalledRequest, reply) => {
    checkHead(request);
    if (isCrossOrigin && answerPreflight(request, reply)) return reply;
    const refusal = routeRefusal(routes, request, reply);
    if (refusal && (request.is404 || request.method !== 'OPTIONS')) throw refusal;
    // The route of the library for OPTIONS does not have the error handler of Nest.
    if (refusal) return reply.code(refusal.status).send(bodyOf(refusal, request.id));
    await access.admit(request, reply);
    checkRest(request);
    continuation.send(request, reply);
    return undefined;
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
