import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import type { RequestContext } from './request-context.js';
import { isBodyPending } from './unread-body.js';

/** The time limits of a handler, checked every `checkEveryMs`. A route with `holdMs` has that much more time. */
export interface HandlerLimits {
  /** When the signal of a request that may change something is aborted: work that still waits is withdrawn by its own handler. */
  readonly withdrawAfterMs: number;
  /** When a response is sent without the handler. */
  readonly respondAfterMs: number;
  readonly checkEveryMs?: number;
}

const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Responds to a request whose handler takes too long: 503 if nothing was changed, 504 if something may have been. Everything a handler
 * waits for has a time limit of its own; this limit covers the rest.
 *
 * A disconnect of the caller aborts nothing here: the request is carried out.
 *
 * This replaces Fastify's `handlerTimeout`, whose timer and AbortController for each request cost a sixth of a cached read.
 */
export function boundHandlers(server: FastifyInstance, limits: HandlerLimits): void {
  const open = new Set<FastifyReply>();
  const held = new Set<FastifyReply>();
  const withdrawable = new Map<FastifyReply, AbortController>();
  const close = (reply: FastifyReply) => {
    open.delete(reply);
    held.delete(reply);
    withdrawable.delete(reply);
  };
  const respond = (reply: FastifyReply) => {
    close(reply);
    // A response that has begun is not touched: a second one would end the process. A caller who disconnects leaves such a response.
    if (!reply.raw.headersSent) reply.send(refusalOf(reply.request));
  };
  server.addHook('onRequest', (request: FastifyRequest & RequestContext, reply, done) => {
    (request.routeOptions.config.holdMs === undefined ? open : held).add(reply);
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
    // The first two are in order of arrival, so the first entry below the limit ends the loop.
    for (const [reply, controller] of withdrawable) {
      if (reply.elapsedTime < limits.withdrawAfterMs) break;
      withdrawable.delete(reply);
      controller.abort(new Refusal('unavailable', WITHDRAWN, { retryAfterSeconds: 1 }));
    }
    for (const reply of open) {
      if (reply.elapsedTime < limits.respondAfterMs) break;
      respond(reply);
    }
    for (const reply of held) {
      const { holdMs = 0 } = reply.request.routeOptions.config;
      if (reply.elapsedTime >= limits.respondAfterMs + holdMs) respond(reply);
    }
  }, limits.checkEveryMs ?? 1_000);
  check.unref();
  server.addHook('onClose', (_server, done) => {
    clearInterval(check);
    done();
  });
}

const WITHDRAWN = 'The request waited too long and was withdrawn. Nothing was done.';

/** A handler runs once access was checked and the body was read. Before that, nothing was done. */
function refusalOf(request: FastifyRequest & RequestContext): Refusal {
  const { caller, deadline } = request;
  const cause = new Error('the handler did not respond in time');
  if (caller === undefined || deadline === undefined) {
    return new Refusal('unavailable', 'The response took too long.', { cause });
  }
  if (isBodyPending(request)) return new Refusal('request_timeout');
  return new Refusal('outcome_unknown', undefined, { retryAfterSeconds: 1, cause });
}
