import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Refusal } from '@banking/domain';
import { HANDLER_TIMEOUT_MS } from '../http/limits.js';

/**
 * Asks the upstream only where its answer will still find our caller: one that has waited long to be let in would be told that the
 * answer took too long while the upstream goes on, and might send a payment again as another one.
 *
 * A guard of a module that the application imports: it looks after the application's own guard has let the caller in. As an
 * interceptor it was a fifth of what a request costs: Nest builds a chain of observables for the first there is.
 */
@Injectable()
export class TimeLeft implements CanActivate {
  /** @param neededMs what the upstream may take */
  constructor(private readonly neededMs: number) {}

  canActivate(context: ExecutionContext): boolean {
    const { elapsedTime } = context.switchToHttp().getResponse<FastifyReply>();
    if (elapsedTime + this.neededMs > HANDLER_TIMEOUT_MS) {
      throw new Refusal(
        'unavailable',
        'Too much time had passed before the request could be sent on. Nothing was done.',
      );
    }
    return true;
  }
}
