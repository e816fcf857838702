import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';

/**
 * Aborts the reads of a caller at the upstream when its caller disconnects: they would keep connections that other callers need. A
 * request that changes something continues, since the upstream may have carried it out already. Responses that callers share continue
 * too.
 */
export function abortReadsOnDisconnect(server: FastifyInstance): void {
  // One for all requests of a connection: a controller and a listener for each request would be made for nothing.
  const disconnects = new WeakMap<Socket, AbortSignal>();
  server.addHook('preHandler', (request: FastifyRequest & CalledRequest, _reply, done) => {
    const { caller, deadline, raw } = request;
    if (caller?.workspaceId !== undefined && deadline === undefined) {
      const signal = disconnects.get(raw.socket) ?? disconnectOf(raw.socket);
      disconnects.set(raw.socket, signal);
      request.caller = { ...caller, signal };
    }
    done();
  });
}

/** Aborted when the connection is closed. Requests that are complete do not notice. */
function disconnectOf(socket: Socket): AbortSignal {
  const disconnect = new AbortController();
  socket.once('close', () => disconnect.abort(new Refusal('unavailable', 'The caller has disconnected.')));
  return disconnect.signal;
}
