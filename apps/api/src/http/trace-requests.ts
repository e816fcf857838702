import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Tracing } from '@banking/telemetry/tracing';
import type { RequestContext } from './request-context.js';

/** Probes poll these routes. Their spans would be most of the traces of an idle service. */
const HEALTH = '/health/';

/** Gives each request a span, which is active in its hooks and its handler. Call it before hooks that may do traced work. */
export function traceRequests(server: FastifyInstance, tracing: Tracing): void {
  server.addHook('onRequest', (request: FastifyRequest & RequestContext, reply, done) => {
    const { method, id: requestId, headers, routeOptions } = request;
    const route = routeOptions.url;
    if (route?.startsWith(HEALTH)) return done();
    const trace = tracing.startRequest({ method, route, requestId, headers });
    request.trace = trace;
    // Without a response there is no hook, because the caller has disconnected.
    reply.raw.once('close', () =>
      trace.end({
        status: reply.raw.headersSent ? reply.raw.statusCode : undefined,
        workspaceId: request.caller?.workspaceId,
        refusal: request.reason,
      }),
    );
    return trace.run(done);
  });
}
