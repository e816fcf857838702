import type { FastifyInstance } from 'fastify';
import { Refusal } from '@banking/domain';

/** Refuses what we have sent ourselves: a way that leads back to us would end only where something breaks. */
export class LoopWatch {
  /** Whether such a request has come. */
  isLoop = false;

  /** @param name ours in `Via` (RFC 9110, section 7.6.3), which no other process has */
  constructor(private readonly name: string) {}

  watch(server: FastifyInstance): void {
    server.addHook('onRequest', (request, _reply, done) => {
      const isOurs = request.headers.via?.includes(this.name) === true;
      if (isOurs) this.isLoop = true;
      done(isOurs ? new Refusal('upstream_error', 'This gateway leads back to itself.') : undefined);
    });
  }
}
