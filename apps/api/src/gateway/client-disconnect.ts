import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';

/**
 * Aborts a read at the upstream when its caller disconnects: it would keep a connection that other callers need. A request that changes
 * something continues, since the upstream may have carried it out already. Responses that callers share continue too.
 */
export function abortReadsOnDisconnect(server: FastifyInstance): void {
  server.addHook('preHandler', (request: FastifyRequest & CalledRequest, { raw }, done) => {
    if (request.caller?.workspaceId !== undefined && request.deadline === undefined) {
      const disconnect = new AbortController();
      raw.once('close', () => {
        if (!raw.writableFinished) disconnect.abort(new Refusal('unavailable', 'The caller has disconnected.'));
      });
      request.caller = { ...request.caller, signal: disconnect.signal };
    }
    done();
  });
}
