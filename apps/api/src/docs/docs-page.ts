import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import { LocalIssuer } from '@banking/process/local-issuer';
import { isLoopback } from '@banking/process';
import { PUBLIC_PAGE } from '../access/access-check.js';
import { checkedDocument } from '../gateway/validate-response.js';
import type { ApiConfig } from '../config.js';
import { entityTagOf, isMatched, isUnchanged } from '../http/entity-tag.js';
import { STATE_DIAGRAMS } from './introduction.js';
import { createDocument, type Deployment } from './openapi.js';

/** The page loads nothing from other hosts and has no inline script. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A diagram has its style inside, and nothing else. */
const DIAGRAM_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** Our part of the page: its style, and its additions to Swagger UI. */
const PAGE = join(__dirname, '..', '..', 'docs-page');
const IMAGES = join(__dirname, '..', '..', '..', '..', 'docs', 'images');
const SWAGGER_UI = dirname(require.resolve('swagger-ui-dist/package.json'));

const ASSETS = {
  'swagger-ui.css': SWAGGER_UI,
  'swagger-ui-bundle.js': SWAGGER_UI,
  'favicon-32x32.png': SWAGGER_UI,
  'page.css': PAGE,
  'top-bar.css': PAGE,
  'operations.css': PAGE,
  'schemas.css': PAGE,
  'diagrams.css': PAGE,
  'phone.css': PAGE,
  'page.js': PAGE,
  'top-bar.js': PAGE,
  'references.js': PAGE,
  'responses.js': PAGE,
};

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

const PUBLIC = { config: { operation: PUBLIC_PAGE } } as const;

/** Serves `/docs` and `/openapi.json` without authentication. */
export async function serveDocs(
  app: NestFastifyApplication,
  config: SignInConfig & Pick<ApiConfig, 'triesOut'>,
  deployment: Deployment,
): Promise<void> {
  const server = app.getHttpAdapter().getInstance() as FastifyInstance;
  const serve = (path: string, file: PublicFile, policy = PAGE_POLICY) =>
    server.get(path, PUBLIC, (request, reply) => file.send(request, reply.header('Content-Security-Policy', policy)));
  const file = (name: string, read: ConstructorParameters<typeof PublicFile>[1]) =>
    new PublicFile(TYPES[extname(name)]!, read);

  serve(
    '/openapi.json',
    file('openapi.json', async () => {
      const document = JSON.stringify(await createDocument(app, deployment));
      return config.upstream ? checkedDocument(document) : document;
    }),
  );
  const demoUser = demoUserOf(config);
  if (demoUser !== undefined) await serveSignIn(server, demoUser, config);
  const common = { 'data-sandbox': onOrOff(config.sandbox), 'data-try-it-out': onOrOff(config.triesOut) };
  const page = file('index.html', () => pageOf(common));
  const pageOfThisMachine = file('index.html', () => pageOf({ ...common, 'data-sign-in': demoUser ?? '' }));
  server.get('/docs', PUBLIC, async (request, reply) => {
    const offersSignIn = demoUser !== undefined && isOfThisMachine(request);
    reply.header('Content-Security-Policy', PAGE_POLICY);
    return (offersSignIn ? pageOfThisMachine : page).send(request, reply);
  });
  server.get('/docs/', PUBLIC, async (_request, reply) => reply.redirect('../docs', 308));
  for (const name of STATE_DIAGRAMS.map((diagram) => `${diagram.name}.svg`)) {
    serve(
      `/docs/${name}`,
      file(name, () => readFileSync(join(IMAGES, name))),
      DIAGRAM_POLICY,
    );
  }
  for (const [name, folder] of Object.entries(ASSETS)) {
    serve(
      `/docs/${name}`,
      file(name, () => readFileSync(join(folder, name))),
    );
  }
}

const onOrOff = (value: boolean) => (value ? 'on' : 'off');

/** The page, with the properties of the deployment as attributes that its scripts read. */
function pageOf(attributes: Readonly<Record<string, string>>): string {
  const page = readFileSync(join(PAGE, 'index.html'), 'utf8');
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`);
  return page.replace('<html lang="en"', (start) => start + written.join(''));
}

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

/** A smaller file fits into one packet. */
const COMPRESSED_MIN_BYTES = 1_000;

const ENCODINGS = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 9 }),
  identity: async (bytes: Buffer) => bytes,
};
type Encoding = keyof typeof ENCODINGS;

interface Representation {
  readonly bytes: Buffer;
  readonly etag: string;
}

/**
 * A file that everybody may read, in the encodings that the requests ask for. Each is made once, so clients that do not
 * read the response hold no copy of their own.
 */
export class PublicFile {
  private readonly made = new Map<Encoding, Promise<Representation>>();

  /** @param read called once, at the first request */
  constructor(
    private readonly type: string,
    private readonly read: () => Buffer | string | Promise<string>,
  ) {}

  /** Responds with the file, or with 304 if the client has it (RFC 9110, section 15.4.5). */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const plain = await this.representation('identity');
    const isSmall = plain.bytes.length < COMPRESSED_MIN_BYTES;
    const encoding = isSmall ? 'identity' : encodingFor(request.headers['accept-encoding']);
    const { bytes, etag } = encoding === 'identity' ? plain : await this.representation(encoding);
    reply.header('etag', etag).header('cache-control', 'no-cache').header('vary', 'accept-encoding');
    if (!isMatched(request.headers['if-match'], etag)) throw new Refusal('precondition_failed');
    if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send();
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    return reply.type(this.type).send(bytes);
  }

  private representation(encoding: Encoding): Promise<Representation> {
    let made = this.made.get(encoding);
    if (made === undefined) {
      made = this.make(encoding);
      this.made.set(encoding, made);
      // The next request tries again.
      made.catch(() => this.made.delete(encoding));
    }
    return made;
  }

  private async make(encoding: Encoding): Promise<Representation> {
    const plain =
      encoding === 'identity' ? Buffer.from(await this.read()) : (await this.representation('identity')).bytes;
    const bytes = await ENCODINGS[encoding](plain);
    return { bytes, etag: entityTagOf(bytes) };
  }
}

/** The best encoding that an `Accept-Encoding` (RFC 9110, section 12.5.3) names, and does not exclude with a weight of 0. */
export function encodingFor(header: string | undefined): Encoding {
  const accepted = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.split(';').map((part) => part.trim()))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)))
    .map(([name]) => name);
  return (['br', 'gzip'] as const).find((encoding) => accepted.includes(encoding)) ?? 'identity';
}
