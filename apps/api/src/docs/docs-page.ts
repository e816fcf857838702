import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { PUBLIC_PAGE } from '../access/access-check.js';
import { checkedDocument } from '../gateway/validate-response.js';
import type { ApiConfig } from '../config.js';
import { demoUserOf, isOfThisMachine, serveSignIn, type SignInConfig } from './demo-sign-in.js';
import { STATE_DIAGRAMS } from './events-section.js';
import { createDocument, type Deployment } from './openapi.js';
import { PublicFile } from './public-file.js';

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
