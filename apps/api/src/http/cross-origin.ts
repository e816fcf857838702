import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Headers that a page of another origin may read. */
const EXPOSED_HEADERS = [
  'X-Request-Id',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Link',
  'Location',
  'ETag',
  'Idempotency-Key',
  'Idempotent-Replayed',
  'Content-Disposition',
  'WWW-Authenticate',
  'Allow',
];

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/** Allows pages of these origins to read every response, refusals included. `respondToPreflight` handles preflights. */
export function allowOrigins(app: NestFastifyApplication, origins: readonly string[]): void {
  app.enableCors({
    origin: [...origins],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 600,
    methods: METHODS,
    // The library sends its responses without the headers of this service.
    preflightContinue: true,
    strictPreflight: false,
  });
}

/** Responds to a preflight (Fetch Standard, section 3.2.2) with the headers that are set. Returns whether it was one. */
export function respondToPreflight({ method, headers }: FastifyRequest, reply: FastifyReply): boolean {
  if (method !== 'OPTIONS' || !headers.origin || !headers['access-control-request-method']) return false;
  // Safari waits for a body without this header.
  reply.code(204).header('Content-Length', '0').send();
  return true;
}
