import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Headers that a page of another origin may read. */
const EXPOSED_HEADERS = ['X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'Deprecation', 'Sunset', 'Link', 'Location', 'ETag', 'Idempotency-Key', 'Idempotent-Replayed', 'Content-Disposition', 'WWW-Authenticate', 'Allow']; // prettier-ignore

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/** Lets pages of these origins read every response, refusals too. Preflights are answered by `answerPreflight`. */
export function allowOrigins(app: NestFastifyApplication, origins: readonly string[]): void {
  app.enableCors({
    origin: [...origins],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 600,
    methods: METHODS,
    // The answers of the library have neither our form nor our headers.
    preflightContinue: true,
    strictPreflight: false,
  });
}

/** Answers a preflight (Fetch Standard, section 3.2.2) with the headers that are set already. Returns whether it was one. */
export function answerPreflight({ method, headers }: FastifyRequest, reply: FastifyReply): boolean {
  if (method !== 'OPTIONS' || !headers.origin || !headers['access-control-request-method']) return false;
  // Safari waits for a body without this header.
  reply.code(204).header('Content-Length', '0').send();
  return true;
}
