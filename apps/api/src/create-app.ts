import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { Logger } from 'nestjs-pino';
import type { Logger as Pino } from 'pino';
import type { Tracing } from '@banking/telemetry/tracing';
import { AccessCheck } from './access/access-check.js';
import { RoleLookup } from './access/role-lookup.js';
import { KeyCheck } from './access/key-check.js';
import { RateLimit, requestLimit } from './access/rate-limit.js';
import { TokenVerifier } from './access/token-verifier.js';
import { AppModule, type AppDependencies } from './app.module.js';
import type { Implementation } from './banking.module.js';
import type { ApiConfig } from './config.js';
import { serveDocs } from './docs/docs-page.js';
import { CachedResponses } from './http/cached-responses.js';
import { allowOrigins } from './http/security-headers.js';
import { PagedReads } from './http/paged-reads.js';
import { createServer, prepareServer } from './http/server.js';
import { refuseUnreadQueries } from './input/input.pipe.js';
import { traceRequests } from './http/request-log.js';
import { openLedger } from './open-ledger.js';

/**
 * Opens our own books, or the connection to another deployment of the interface. Nothing else in the repository decides which.
 *
 * @param signal ends the start of our own books
 * @throws ConfigError, the reason of the signal, and the errors of a database that cannot be reached, read or migrated
 */
export async function openImplementation(
  config: ApiConfig,
  log: Pino,
  { tracing, signal }: { readonly tracing?: Tracing | undefined; readonly signal?: AbortSignal } = {},
): Promise<Implementation> {
  const { upstream } = config;
  if (upstream === undefined) return openLedger(config, log, signal);
  const { openUpstream } = await import('./gateway/open-upstream.js');
  return openUpstream(upstream, log, (requestId) => tracing?.headersFor(requestId));
}

export async function createApp(dependencies: AppDependencies): Promise<NestFastifyApplication> {
  const { config, implementation, log, draining, tracing } = dependencies;
  const { connectionsPerAddress, corsOrigins, publicUrl, rateLimit, trustedProxies } = config;
  const { directory } = implementation;
  const roles = new RoleLookup(directory);
  const access = new AccessCheck({
    verifier: await TokenVerifier.open({
      tokens: config.tokens,
      requiresScopes: config.requiresScopes,
      dataDir: config.deployment.dataDir,
      report: (report) =>
        report.why === undefined ? log.info('issuer keys fetched again') : log.error(report, 'issuer keys not fetched'),
    }),
    roles,
    // A gateway forwards no keys: its upstream accepts its own credential only.
    ...(config.upstream === undefined && {
      keys: new KeyCheck({ roles, noteUse: (keyId) => directory.noteKeyUse(keyId) }),
    }),
    stepUps: config.stepUps,
    rateLimit: new RateLimit(rateLimit && requestLimit(rateLimit.perSecond)),
  });
  const adapter = createServer(log, trustedProxies);
  const isCrossOrigin = corsOrigins.length > 0;
  const server = adapter.getInstance<FastifyInstance>();
  const { watch, refusals } = implementation;
  prepareServer(server, {
    access,
    draining,
    connectionsPerAddress,
    isCrossOrigin,
    publicUrl,
    watch: (server) => {
      if (tracing !== undefined) traceRequests(server, tracing);
      watch?.(server);
    },
  });
  const options = { bufferLogs: true, abortOnError: false, bodyParser: false };
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(dependencies), adapter, options);
  app.useLogger(app.get(Logger));
  refuseUnreadQueries(server);
  app.get(CachedResponses).serve(server);
  app.get(PagedReads).serve(server);
  implementation.directoryTurns?.serve(server);
  if (isCrossOrigin) allowOrigins(app, corsOrigins);
  if (config.docs) await serveDocs(app, config, { sandbox: config.sandbox, publicUrl, refusalsOfAll: refusals });
  await app.init();
  await server.ready();
  return app;
}
