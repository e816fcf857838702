import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, type FastifyServerOptions, LogController } from 'fastify'; // prettier-ignore
import { Refusal, type RefusalReason } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';
import { headerLines } from '../access/credentials.js';
import { bodyOf } from './refusal.filter.js';
import { indexRoutes, type RouteIndex } from './route-index.js';

/** Every bound on what a client can make the server hold, and for how long. */
const LIMITS = {
  bodyBytes: 64 * 1024,
  headerBytes: 16 * 1024,
  headers: 100,
  urlBytes: 8 * 1024,
  parameterLength: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  handlerTimeoutMs: 15_000,
  idleTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  checkConnectionsEveryMs: 2_000,
  connections: 1_000,
  requestsPerConnection: 1_000,
} as const;

/** A request id we were given is kept when it cannot do harm in a log line or a header. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Headers with one value each. Sent twice, two readers could each believe another one (RFC 9110, section 5.3). */
const SINGLE_HEADERS = ['host', 'content-type', 'content-length', 'idempotency-key', 'accept'];

export function createServer(logger: FastifyBaseLogger): { adapter: FastifyAdapter; routes: RouteIndex } {
  const options = {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: ({ headers }: { headers: Record<string, unknown> }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    },
    bodyLimit: LIMITS.bodyBytes,
    connectionTimeout: LIMITS.idleTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    handlerTimeout: LIMITS.handlerTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    maxRequestsPerSocket: LIMITS.requestsPerConnection,
    routerOptions: { maxParamLength: LIMITS.parameterLength },
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    http: {
      headersTimeout: LIMITS.headersTimeoutMs,
      connectionsCheckingInterval: LIMITS.checkConnectionsEveryMs,
      maxHeaderSize: LIMITS.headerBytes,
    },
    clientErrorHandler: refuseBrokenRequest,
  };
  const adapter = new FastifyAdapter(options as FastifyServerOptions<Server>);
  const server = adapter.getInstance<FastifyInstance>();
  server.server.maxConnections = LIMITS.connections;
  server.server.maxHeadersCount = LIMITS.headers;
  const routes = indexRoutes(server);
  server.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id);
    if (request.url.length > LIMITS.urlBytes) throw new Refusal('uri_too_long');
    for (const name of SINGLE_HEADERS) {
      if (headerLines(request, name).length > 1) throw new Refusal('header_repeated', `Send the header ${name} once.`);
    }
  });
  server.addHook('onResponse', async (request: FastifyRequest & CalledRequest, reply) => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        ...(request.caller && { userId: request.caller.actor, workspaceId: request.caller.workspaceId }),
      },
      'request',
    );
  });
  return { adapter, routes };
}

/** Headers that keep a browser from doing more with an answer than show it. The docs page loosens what it needs. */
export async function registerPlugins(server: FastifyInstance): Promise<void> {
  await server.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginEmbedderPolicy: false,
  });
  await server.register(rateLimit, { global: false });
}

/** What Node's parser refuses reaches no route: the answer is written by hand, in the same form. */
function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const reasons: Record<string, RefusalReason> = {
    HPE_HEADER_OVERFLOW: 'headers_too_large',
    ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  };
  const refusal = new Refusal(reasons[error.code ?? ''] ?? 'request_malformed');
  const requestId = randomUUID();
  const body = JSON.stringify(bodyOf(refusal, requestId));
  const lines = [
    `HTTP/1.1 ${refusal.status} ${refusal.errorCode}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
