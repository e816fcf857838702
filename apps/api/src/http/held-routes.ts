import type { FastifyInstance } from 'fastify';
import { LIMITS } from './limits.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How long a request of the route may be held before its handler responds, in milliseconds. Default 0. */
    holdMs?: number;
  }
}

/**
 * Keeps the connection of a request that is held: without data for that long, the server would close it. The limit for a client that
 * does not read its response is that of other requests.
 */
export function keepHeldConnections(server: FastifyInstance, isDraining: () => boolean): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const { holdMs } = request.routeOptions.config;
    if (holdMs !== undefined) request.raw.socket.setTimeout(LIMITS.idleTimeoutMs + holdMs);
    done();
  });
  server.addHook('onSend', (request, reply, _payload, done) => {
    if (request.routeOptions.config.holdMs !== undefined) {
      request.raw.socket.setTimeout(LIMITS.idleTimeoutMs);
      // The stop may have begun while the request was held.
      if (isDraining()) reply.header('connection', 'close');
    }
    done();
  });
}
