import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { Logger } from 'nestjs-pino';
import type { Logger as Pino } from 'pino';
import { AccessCheck } from './access/access-check.js';
import { Callers } from './access/callers.js';
import { RateLimit, requestRate } from './access/rate-limit.js';
import { TokenVerifier } from './access/token-verifier.js';
import { AppModule } from './app.module.js';
import type { Backing } from './backing.module.js';
import type { Config } from './config.js';
import { serveDocs } from './docs/docs-page.js';
import type { Draining } from './health/readiness.js';
import { allowOrigins } from './http/cross-origin.js';
import { createServer, prepareServer } from './http/server.js';

/** The service, ready to listen. */
export async function createApp(
  config: Config,
  backing: Backing,
  log: Pino,
  draining: Draining,
): Promise<NestFastifyApplication> {
  const { connectionsPerAddress, corsOrigins, publicUrl, rateLimit } = config;
  const access = new AccessCheck({
    verifier: await TokenVerifier.open({ tokens: config.tokens, dataDir: config.deployment.dataDir }),
    callers: new Callers(backing.directory),
    rateLimit: new RateLimit(rateLimit && requestRate(rateLimit.perSecond)),
  });
  const adapter = createServer(log);
  const isCrossOrigin = corsOrigins.length > 0;
  const server = adapter.getInstance<FastifyInstance>();
  const { watch } = backing;
  prepareServer(server, { access, draining, connectionsPerAddress, isCrossOrigin, publicUrl, watch });
  const parts = { config, backing, log, draining };
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts), adapter, { bufferLogs: true, abortOnError: false, bodyParser: false }); // prettier-ignore
  app.useLogger(app.get(Logger));
  if (isCrossOrigin) allowOrigins(app, corsOrigins);
  if (config.docs) await serveDocs(app, { publicUrl, sandbox: config.sandbox, ofBacking: backing.refusals });
  await app.init();
  await server.ready();
  return app;
}
