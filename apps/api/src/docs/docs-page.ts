import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { PUBLIC_PAGE } from '../access/access-check.js';
import { drawDiagram } from './state-diagrams/draw-diagram.js';
import { STATE_DIAGRAMS } from './state-diagrams/state-diagrams.js';
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
const SWAGGER_UI = dirname(require.resolve('swagger-ui-dist/package.json'));

const ASSETS = {
  'swagger-ui.css': SWAGGER_UI,
  'swagger-ui-bundle.js': SWAGGER_UI,
  'favicon-32x32.png': SWAGGER_UI,
  'page.css': PAGE,
  'operations.css': PAGE,
  'schemas.css': PAGE,
  'diagrams.css': PAGE,
  'phone.css': PAGE,
  'page.js': PAGE,
};

const PUBLIC = { config: { operation: PUBLIC_PAGE } } as const;

/** Serves `/docs` and `/openapi.json` without authentication. */
export async function serveDocs(
  app: NestFastifyApplication,
  deployment: Deployment & { readonly sandbox: boolean },
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
  const page = pageOf(deployment);
  server.get('/docs', PUBLIC, async (_request, reply) => forPage(reply).type('text/html; charset=utf-8').send(page));
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

/** The page. In a sandbox it may store a token in the browser. */
function pageOf({ sandbox }: { readonly sandbox: boolean }): string {
  const page = readFileSync(join(PAGE, 'index.html'), 'utf8');
  return sandbox ? page.replace('data-sandbox="off"', 'data-sandbox="on"') : page;
}
