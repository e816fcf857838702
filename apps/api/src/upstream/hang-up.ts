import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';

/**
 * Ends what is read at the upstream for a caller who has gone: their requests would go on holding the places of others. What changes
 * something goes on, for it may be done already. A guard that looks after the one that lets callers in.
 */
@Injectable()
export class HangUp implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest & CalledRequest>();
    if (request.caller?.workspaceId === undefined || request.deadline !== undefined) return true;
    const { raw } = http.getResponse<FastifyReply>();
    const gone = new AbortController();
    raw.once('close', () => {
      if (!raw.writableFinished) gone.abort(new Refusal('unavailable', 'The caller has gone.'));
    });
    request.caller = { ...request.caller, signal: gone.signal };
    return true;
  }
}
