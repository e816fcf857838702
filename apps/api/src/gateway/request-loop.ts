import type { FastifyInstance } from 'fastify';
import { Refusal } from '@banking/domain';

/** Detects requests that this gateway has sent itself: its upstream leads back to it, directly or through other gateways. */
export class RequestLoopDetector {
  /** Whether such a request has arrived. */
  isLoop = false;

  /** @param name the name of this process in `Via` (RFC 9110, section 7.6.3); no other process has it */
  constructor(private readonly name: string) {}

  /** Refuses such requests before their access is checked. */
  watch(server: FastifyInstance): void {
    server.addHook('onRequest', (request, _reply, done) => {
      const isOurs = request.headers.via?.includes(this.name) === true;
      if (isOurs) this.isLoop = true;
      done(isOurs ? new Refusal('upstream_error', 'This gateway leads back to itself.') : undefined);
    });
  }
}
