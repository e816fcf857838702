import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

/** Headers that keep a browser from doing more with an answer than show it. The docs page loosens what it needs. */
const POLICY = {
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  xFrameOptions: { action: 'deny' },
  // These mean something to a document only, or to browsers that are gone.
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
} as const;

/**
 * What helmet sets on a response, found out once: it is the same for every request, and asking helmet each time was a tenth of a
 * reference read. Money and names are for nobody's cache (OWASP ASVS 14.3.2); an answer that may be kept says so itself.
 */
function headersOfEveryAnswer(): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { 'cache-control': 'no-store' };
  const response = {
    setHeader: (name: string, value: string) => (headers[name.toLowerCase()] = value),
    removeHeader: () => undefined,
  };
  helmet(POLICY)({} as IncomingMessage, response as unknown as ServerResponse, () => undefined);
  return headers;
}

export const SECURITY_HEADERS = headersOfEveryAnswer();
