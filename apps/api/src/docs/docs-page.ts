import { dirname } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { createDocument } from './openapi.js';

/** Everything comes from here and nothing runs that does not: no inline script, no other host. */
const PAGE_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"; // prettier-ignore

const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Banking transfer service</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/page.js"></script>
</body>
</html>
`;

const PAGE_SCRIPT = `window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  showExtensions: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  validatorUrl: null,
});
`;

const PAGE_STYLE = `body { margin: 0; }
.swagger-ui .info table { border-collapse: collapse; }
.swagger-ui .info table td, .swagger-ui .info table th { border: 1px solid #d8dde7; padding: 6px 10px; text-align: left; }
.swagger-ui .info { margin: 24px 0; }
@media (max-width: 640px) {
  .swagger-ui .info table { display: block; overflow-x: auto; }
  .swagger-ui .info table td:last-child { min-width: 18rem; }
  .swagger-ui .opblock-summary-description { display: none; }
}
`;

/** Serves `/docs` and `/openapi.json`, to anybody. */
export async function serveDocs(app: NestFastifyApplication): Promise<void> {
  const server = app.getHttpAdapter().getInstance() as FastifyInstance;
  const root = dirname(require.resolve('swagger-ui-dist/package.json'));
  await server.register(fastifyStatic, { root, serve: false });
  const page = (reply: FastifyReply, type: string) => reply.header('Content-Security-Policy', PAGE_POLICY).type(type);

  let document: string | undefined;
  server.get('/openapi.json', async (_request, reply) => {
    document ??= JSON.stringify(createDocument(app));
    return page(reply, 'application/json; charset=utf-8').send(document);
  });
  server.get('/docs', async (_request, reply) => page(reply, 'text/html; charset=utf-8').send(PAGE));
  server.get('/docs/', async (_request, reply) => reply.redirect('../docs', 308));
  server.get('/docs/page.js', async (_request, reply) =>
    page(reply, 'text/javascript; charset=utf-8').send(PAGE_SCRIPT),
  );
  server.get('/docs/page.css', async (_request, reply) => page(reply, 'text/css; charset=utf-8').send(PAGE_STYLE));
  for (const asset of ASSETS) server.get(`/docs/${asset}`, async (_request, reply) => reply.sendFile(asset));
}
