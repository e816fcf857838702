import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RequestContext } from '../http/request-context.js';
import { refuseUnknownParameters } from './input.pipe.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the operation reads its query, and refuses unknown parameters itself. */
    hasQuery?: boolean;
  }
}

/** Refuses the parameters of operations that have none. Public operations and pages ignore them. */
export function refuseUnreadQueries(server: FastifyInstance): void {
  server.addHook('preHandler', async ({ query, routeOptions, caller }: FastifyRequest & RequestContext) => {
    if (caller && !routeOptions.config.hasQuery) refuseUnknownParameters(Object.keys(query as object));
  });
}
