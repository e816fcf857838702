import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';
import { HANDLER_TIMEOUT_MS } from '../http/limits.js';

/**
 * Refuses a request if too little time is left for the upstream to respond. Its caller would get a timeout while the upstream carries
 * the request out, and might send a payment again as another one.
 *
 * @param neededMs the time the upstream may take
 */
export function enforceRequestDeadline(server: FastifyInstance, neededMs: number): void {
  server.addHook('preHandler', (request: FastifyRequest & CalledRequest, { elapsedTime }, done) => {
    const isTooLate = request.caller !== undefined && elapsedTime + neededMs > HANDLER_TIMEOUT_MS;
    done(isTooLate ? new Refusal('unavailable', TOO_LATE) : undefined);
  });
}

const TOO_LATE = 'Too much time had passed before the request could be sent on. Nothing was done.';
