import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { PUBLIC_PAGE } from '../access/access-check.js';
import { demoUserOf, isOfThisMachine, serveSignIn, type SignInConfig } from './demo-sign-in.js';
import { createDocument, type Deployment } from './openapi.js';
import { drawDiagram } from './state-diagrams/draw-diagram.js';
import { STATE_DIAGRAMS } from './state-diagrams/state-diagrams.js';

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

const PUBLIC = { config: { operation: PUBLIC_PAGE } } as const;

/** Serves `/docs` and `/openapi.json` without authentication. */
export async function serveDocs(
  app: NestFastifyApplication,
  config: SignInConfig,
  deployment: Deployment,
): Promise<void> {
  const server = app.getHttpAdapter().getInstance() as FastifyInstance;
  await server.register(fastifyStatic, { root: PAGE, serve: false, acceptRanges: false });
  const forPage = (reply: FastifyReply) => reply.header('Content-Security-Policy', PAGE_POLICY);

  // Encoded once: clients that do not read the response would otherwise hold a copy of a megabyte each.
  let document: Buffer | undefined;
  server.get('/openapi.json', PUBLIC, async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(createDocument(app, deployment)));
    return forPage(reply).type('application/json; charset=utf-8').send(document);
  });
  const demoUser = demoUserOf(config);
  if (demoUser !== undefined) await serveSignIn(server, demoUser, config);
  const page = pageOf({ 'data-sandbox': config.sandbox ? 'on' : 'off' });
  const pageOfThisMachine = pageOf({ 'data-sandbox': 'on', 'data-sign-in': demoUser ?? '' });
  server.get('/docs', PUBLIC, async (request, reply) => {
    const offersSignIn = demoUser !== undefined && isOfThisMachine(request);
    return forPage(reply)
      .type('text/html; charset=utf-8')
      .send(offersSignIn ? pageOfThisMachine : page);
  });
  server.get('/docs/', PUBLIC, async (_request, reply) => reply.redirect('../docs', 308));
  for (const diagram of STATE_DIAGRAMS) {
    const svg = drawDiagram(diagram);
    server.get(`/docs/${diagram.name}.svg`, PUBLIC, async (_request, reply) =>
      reply.header('Content-Security-Policy', DIAGRAM_POLICY).type('image/svg+xml').send(svg),
    );
  }
  for (const [asset, folder] of Object.entries(ASSETS)) {
    server.get(`/docs/${asset}`, PUBLIC, async (_request, reply) => forPage(reply).sendFile(asset, folder));
  }
}

/** The page, with the properties of the deployment as attributes that its scripts read. */
function pageOf(attributes: Readonly<Record<string, string>>): string {
  const page = readFileSync(join(PAGE, 'index.html'), 'utf8');
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`);
  return page.replace('<html lang="en"', (start) => start + written.join(''));
}
