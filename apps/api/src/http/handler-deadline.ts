import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';
import { isBodyPending } from './unread-body.js';

/** When a handler is ended. Every time is checked once in `checkEveryMs`. */
export interface HandlerLimits {
  /** When the signal of a request that may change something is aborted, so that what still waits is withdrawn and answers for itself. */
  readonly withdrawAfterMs: number;
  /** When a request is answered without its handler. */
  readonly answerAfterMs: number;
  readonly checkEveryMs?: number;
}

const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Answers a request whose handler takes too long: 503 where nothing was changed, 504 where something may have been. Everything a
 * handler waits for has a bound of its own; this one is for what we did not think of.
 *
 * A caller who disconnects aborts nothing here: what they asked for is carried out.
 *
 * Fastify's `handlerTimeout` does the same with a timer and an AbortController for each request, which was a sixth of a reference read.
 */
export function boundHandlers(server: FastifyInstance, limits: HandlerLimits): void {
  const open = new Set<FastifyReply>();
  const withdrawable = new Map<FastifyReply, AbortController>();
  const close = (reply: FastifyReply) => {
    open.delete(reply);
    withdrawable.delete(reply);
  };
  server.addHook('onRequest', (request: FastifyRequest & CalledRequest, reply, done) => {
    open.add(reply);
    if (!READS.includes(request.method)) {
      const controller = new AbortController();
      withdrawable.set(reply, controller);
      request.deadline = controller.signal;
    }
    done();
  });
  server.addHook('onResponse', (_request, reply, done) => {
    close(reply);
    done();
  });
  const check = setInterval(() => {
    // Both are in the order of arrival, so the first entry below the limit ends the search.
    for (const [reply, controller] of withdrawable) {
      if (reply.elapsedTime < limits.withdrawAfterMs) break;
      withdrawable.delete(reply);
      controller.abort(new Refusal('unavailable', WITHDRAWN, { retryAfterSeconds: 1 }));
    }
    for (const reply of open) {
      if (reply.elapsedTime < limits.answerAfterMs) break;
      close(reply);
      // A response that has begun is left alone: a second one would end the process. A caller that went away leaves such a response behind.
      if (!reply.raw.headersSent) reply.send(refusalOf(reply.request));
    }
  }, limits.checkEveryMs ?? 1_000);
  check.unref();
  server.addHook('onClose', (_server, done) => {
    clearInterval(check);
    done();
  });
}

const WITHDRAWN = 'The request waited too long and was withdrawn. Nothing was done.';

/** A handler runs once access was checked and the body has arrived. Before, nothing was done. */
function refusalOf(request: FastifyRequest & CalledRequest): Refusal {
  const { caller, deadline } = request;
  const cause = new Error('the handler did not answer in time');
  if (caller === undefined || deadline === undefined) {
    return new Refusal('unavailable', 'The answer took too long.', { cause });
  }
  if (isBodyPending(request)) return new Refusal('request_timeout');
  return new Refusal('outcome_unknown', undefined, { retryAfterSeconds: 1, cause });
}
