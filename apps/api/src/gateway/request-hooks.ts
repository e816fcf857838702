import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '@banking/domain';
import { HANDLER_TIMEOUT_MS } from '../http/limits.js';

/** Detects requests that this gateway has sent itself: its upstream leads back to it, directly or through other gateways. */
export class RequestLoopDetector {
  isLoop = false;

  /** @param name the name of this process in `Via` (RFC 9110, section 7.6.3); no other process has it */
  constructor(private readonly name: string) {}

  watch(server: FastifyInstance): void {
    server.addHook('onRequest', (request, _reply, done) => {
      const isOurs = request.headers.via?.includes(this.name) === true;
      if (isOurs) this.isLoop = true;
      done(isOurs ? new Refusal('upstream_error', 'This gateway leads back to itself.') : undefined);
    });
  }
}

/**
 * Refuses a request if too little time is left for the upstream to respond. Its caller would get a timeout while the upstream carries
 * the request out, and might send a payment again as another one.
 *
 * @param neededMs the time the upstream may take
 */
export function enforceRequestDeadline(server: FastifyInstance, neededMs: number): void {
  server.addHook('preHandler', (request, { elapsedTime }, done) => {
    const isTooLate = request.caller !== undefined && elapsedTime + neededMs > HANDLER_TIMEOUT_MS;
    done(isTooLate ? new Refusal('unavailable', TOO_LATE) : undefined);
  });
}

const TOO_LATE = 'Too much time had passed before the request could be sent on. Nothing was done.';

/**
 * Aborts the reads of a caller at the upstream when its caller disconnects: they would keep connections that other callers need. A
 * request that changes something continues, since the upstream may have carried it out already. Responses that callers share continue
 * too.
 */
export function abortReadsOnDisconnect(server: FastifyInstance): void {
  // One for all requests of a connection: a controller and a listener for each request would be made for nothing.
  const disconnects = new WeakMap<Socket, AbortSignal>();
  server.addHook('preHandler', (request, _reply, done) => {
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
