import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Observable } from 'rxjs';
import { Refusal } from '@banking/domain';
import { HANDLER_TIMEOUT_MS } from '../http/server.js';

/**
 * Asks the upstream only where its answer will still find our caller: one that has waited long to be let in would be told that the
 * answer took too long while the upstream goes on, and might send a payment again as another one.
 */
@Injectable()
export class TimeLeft implements NestInterceptor {
  /** @param neededMs what the upstream may take */
  constructor(private readonly neededMs: number) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { elapsedTime } = context.switchToHttp().getResponse<FastifyReply>();
    if (elapsedTime + this.neededMs > HANDLER_TIMEOUT_MS) {
      throw new Refusal('unavailable', 'It took too long to find out who is calling. Nothing was done.');
    }
    return next.handle();
  }
}
