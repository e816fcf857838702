import { setMaxListeners } from 'node:events';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import { isBodyPending } from './connections.js';

/** The time limits of a handler, checked every `checkEveryMs`. A route with `holdMs` has that much more time. */
export interface HandlerLimits {
  /**
   * When the signal of a request that may change something is aborted, or up to two checks later: work that still waits is withdrawn by its
   * own handler.
   */
  readonly withdrawAfterMs: number;
  /** When a response is sent without the handler. */
  readonly respondAfterMs: number;
  readonly checkEveryMs?: number;
}

const CHECK_EVERY_MS = 1_000;

const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Responds to a request whose handler takes too long: 503 if nothing was changed, 504 if something may have been. Everything a handler
 * waits for has a time limit of its own; this limit covers the rest.
 *
 * A disconnect of the caller aborts nothing here: the request is carried out.
 *
 * This replaces Fastify's `handlerTimeout`, whose timer and AbortController for each request cost a sixth of a cached read. The requests
 * between two checks share a signal.
 */
export function boundHandlers(server: FastifyInstance, limits: HandlerLimits): void {
  const open = new Set<FastifyReply>();
  const held = new Set<FastifyReply>();
  /** Of the requests since the last check. */
  let current: Deadline | undefined;
  /** Of the requests before it, by age. */
  const earlier: Deadline[] = [];
  const close = (reply: FastifyReply) => {
    open.delete(reply);
    held.delete(reply);
  };
  const respond = (reply: FastifyReply) => {
    close(reply);
    // A response that has begun is not touched: a second one would end the process. A caller who disconnects leaves such a response.
    if (!reply.raw.headersSent) reply.send(refusalOf(reply.request));
  };
  server.addHook('onRequest', (request, reply, done) => {
    (request.routeOptions.config.holdMs === undefined ? open : held).add(reply);
    if (!READS.includes(request.method)) {
      if (current === undefined || current.signal.aborted) current = new Deadline(limits);
      request.deadline = current.signal;
    }
    done();
  });
  server.addHook('onResponse', (_request, reply, done) => {
    close(reply);
    done();
  });
  const withdraw = () => {
    if (current) {
      current.close();
      earlier.push(current);
    }
    current = undefined;
    while (earlier[0]?.signal.aborted) earlier.shift();
  };
  const check = setInterval(() => {
    withdraw();
    // In order of arrival, so the first entry below the limit ends the loop.
    for (const reply of open) {
      if (reply.elapsedTime < limits.respondAfterMs) break;
      respond(reply);
    }
    for (const reply of held) {
      const { holdMs = 0 } = reply.request.routeOptions.config;
      if (reply.elapsedTime >= limits.respondAfterMs + holdMs) respond(reply);
    }
  }, limits.checkEveryMs ?? CHECK_EVERY_MS);
  check.unref();
  server.addHook('onClose', (_server, done) => {
    clearInterval(check);
    done();
  });
}

const WITHDRAWN = 'The request waited too long and was withdrawn. Nothing was done.';

/**
 * The deadline of the requests between two checks. After a pause of the process, what was read meanwhile is handled before the timers that
 * are due, and could begin work whose caller has another answer by now. So its signal tells the time when it is asked.
 */
class Deadline {
  private readonly controller = new AbortController();
  readonly signal = this.controller.signal;
  /** When the last of the requests arrived, at the latest. */
  private latestMs: number;

  constructor(private readonly limits: HandlerLimits) {
    this.latestMs = performance.now() + (limits.checkEveryMs ?? CHECK_EVERY_MS);
    // Any number of requests may listen.
    setMaxListeners(0, this.signal);
    Object.defineProperty(this.signal, 'aborted', { get: () => this.isAborted() });
  }

  /** No further request has it. */
  close(): void {
    this.latestMs = Math.min(this.latestMs, performance.now());
  }

  private isAborted(): boolean {
    if (this.signal.reason !== undefined) return true;
    if (performance.now() - this.latestMs < this.limits.withdrawAfterMs) return false;
    this.controller.abort(new Refusal('unavailable', WITHDRAWN, { retryAfterSeconds: 1 }));
    return true;
  }
}

/** A handler runs once access was checked and the body was read. Before that, nothing was done. */
function refusalOf(request: FastifyRequest): Refusal {
  const { caller, deadline } = request;
  const cause = new Error('the handler did not respond in time');
  if (caller === undefined || deadline === undefined) {
    return new Refusal('unavailable', 'The response took too long.', { cause });
  }
  if (isBodyPending(request)) return new Refusal('request_timeout');
  return new Refusal('outcome_unknown', undefined, { retryAfterSeconds: 1, cause });
}
