import type { FastifyInstance, FastifyReply } from 'fastify';
import { Refusal } from '@banking/domain';

/**
 * Answers 503 for a handler that takes longer than this; `lookEveryMs` is how exactly. Everything a handler waits for has a bound of its own; this one
 * is for what we did not think of.
 *
 * Fastify's `handlerTimeout` does the same with a timer and an AbortController for each request, which was a sixth of a reference read.
 */
export function boundHandlers(server: FastifyInstance, limitMs: number, lookEveryMs = 1_000): void {
  const open = new Set<FastifyReply>();
  server.addHook('onRequest', (_request, reply, done) => {
    open.add(reply);
    done();
  });
  server.addHook('onResponse', (_request, reply, done) => {
    open.delete(reply);
    done();
  });
  const look = setInterval(() => {
    // In the order they came: whoever comes after a young one is younger.
    for (const reply of open) {
      if (reply.elapsedTime < limitMs) break;
      open.delete(reply);
      if (!reply.sent) reply.send(new Refusal('unavailable', 'The answer took too long.'));
    }
  }, lookEveryMs);
  look.unref();
  server.addHook('onClose', (_server, done) => {
    clearInterval(look);
    done();
  });
}
