import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import helmet from 'helmet';

/** Headers that restrict what a browser does with a response. The documentation page relaxes them as it needs. */
const POLICY = {
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  xFrameOptions: { action: 'deny' },
  // These affect documents only, or browsers that are no longer in use.
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
} as const;

/**
 * The headers that helmet sets, computed once: they are the same for every response, and calling helmet each time cost a tenth of a
 * cached read. Responses with amounts and names must not be cached (OWASP ASVS 14.3.2); a cacheable response overrides the header.
 */
function headersOfEveryResponse(): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { 'cache-control': 'no-store' };
  const response = {
    setHeader: (name: string, value: string) => (headers[name.toLowerCase()] = value),
    removeHeader: () => undefined,
  };
  helmet(POLICY)({} as IncomingMessage, response as unknown as ServerResponse, () => undefined);
  return headers;
}

export const SECURITY_HEADERS = headersOfEveryResponse();

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
  'WWW-Authenticate',
  'Idempotent-Replayed',
  'Content-Disposition',
  'Allow',
];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

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
