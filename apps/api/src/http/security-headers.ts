import type { IncomingMessage, ServerResponse } from 'node:http';
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
