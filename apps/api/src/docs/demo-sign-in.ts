import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import { LocalIssuer } from '@banking/process/local-issuer';
import { isLoopback } from '@banking/process';
import { PUBLIC_PAGE } from '../access/access-check.js';
import type { ApiConfig } from '../config.js';

/** An administrator of two workspaces in the demo data. */
const DEMO_USER = 'ada@northwind.example';

/** As long as a token of the command `banking token`. */
const LIFETIME_SECONDS = 8 * 3_600;

export type SignInConfig = Pick<
  ApiConfig,
  'sandbox' | 'deployment' | 'tokens' | 'host' | 'publicUrl' | 'trustedProxies' | 'upstream'
>;

/**
 * The user whom the documentation page can sign in as: only where the service itself made the demo data, signs the tokens, and listens on a
 * loopback address without a proxy in front. Undefined elsewhere. Then there is no such route.
 */
export function demoUserOf(config: SignInConfig): string | undefined {
  const { sandbox, deployment, tokens, host, publicUrl, trustedProxies, upstream } = config;
  const isLocal = tokens.some(({ source }) => source.kind === 'local');
  const hasDemoUser = sandbox && deployment.demo && upstream === undefined && isLocal;
  const hasProxy = publicUrl !== undefined || trustedProxies.rules.length > 0;
  return hasDemoUser && isLoopback(host) && !hasProxy ? DEMO_USER : undefined;
}

/** Serves a token of the demo user to the documentation page in a browser on this machine. To all others, the route does not exist. */
export async function serveSignIn(server: FastifyInstance, email: string, config: SignInConfig): Promise<void> {
  const issuer = await LocalIssuer.open(config.deployment.dataDir);
  const { audience } = config.tokens.find(({ source }) => source.kind === 'local')!;
  server.post('/docs/sign-in', { config: { operation: PUBLIC_PAGE } }, async (request) => {
    if (!isOfThisMachine(request) || !isOfThisPage(request)) throw new Refusal('route_not_found');
    return { token: await issuer.sign({ email, audience, lifetimeSeconds: LIFETIME_SECONDS }) };
  });
}

/** Proxies add these headers. A loopback address is then that of the proxy. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

/**
 * Whether a program of this machine called the service by a loopback address. The name in `Host` matters too: another site can let its own
 * name resolve to 127.0.0.1, and its pages have the origin of that name (DNS rebinding).
 */
export function isOfThisMachine({ headers, sourceAddress }: FastifyRequest): boolean {
  const called = `http://${headers.host}`;
  if (PROXY_HEADERS.some((name) => name in headers)) return false;
  return isLoopback(sourceAddress ?? '') && URL.canParse(called) && isLoopback(new URL(called).hostname);
}

/** Whether a page of this service sent the request. A browser sets both headers, and no page can change them (Fetch Standard). */
function isOfThisPage({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  return headers.origin === `http://${headers.host}` && site === 'same-origin';
}
