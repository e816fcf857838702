import cors from '@fastify/cors';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { Logger } from 'nestjs-pino';
import type { Logger as Pino } from 'pino';
import { TokenVerifier } from './access/token-verifier.js';
import { AppModule } from './app.module.js';
import type { Backing } from './backing.module.js';
import type { Config } from './config.js';
import { serveDocs } from './docs/docs-page.js';
import type { Draining } from './health/readiness.js';
import { createServer, prepareServer } from './http/server.js';

/** Headers of ours that a browser of another origin may read. */
const EXPOSED_HEADERS = ['X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'Deprecation', 'Sunset', 'Link', 'Location', 'ETag', 'Idempotency-Key', 'Idempotent-Replayed', 'Content-Disposition']; // prettier-ignore

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/** The service, ready to listen. */
export async function createApp(
  config: Config,
  backing: Backing,
  log: Pino,
  draining: Draining,
): Promise<NestFastifyApplication> {
  const adapter = createServer(log);
  const server = adapter.getInstance<FastifyInstance>();
  if (config.corsOrigins.length > 0) {
    // Before everything else, so that a page can read refusals too.
    await server.register(cors, {
      origin: [...config.corsOrigins],
      exposedHeaders: EXPOSED_HEADERS,
      maxAge: 600,
      methods: METHODS,
    });
  }
  prepareServer(server, draining, config.publicUrl);
  const verifier = await TokenVerifier.open({ tokens: config.tokens, dataDir: config.deployment.dataDir });
  const parts = { config, backing, verifier, log, draining };
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts), adapter, { bufferLogs: true, abortOnError: false, bodyParser: false }); // prettier-ignore
  app.useLogger(app.get(Logger));
  if (config.docs)
    await serveDocs(app, { publicUrl: config.publicUrl, sandbox: config.sandbox, ofBacking: backing.refusals });
  await app.init();
  await server.ready();
  return app;
}
