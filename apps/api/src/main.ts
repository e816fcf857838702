import { once } from 'node:events';
import { createServer } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { describeLeftServers, isOperatorError } from '@banking/deployment';
import { LocalIssuerError } from '@banking/process/local-issuer';
import { ConfigError, createLogger, type OperatorServer, type RunningService, runService } from '@banking/process';
import { flushMs, logExport, startTracing, type Tracing } from '@banking/telemetry/tracing';
import type { Implementation } from './banking.module.js';
import { type ApiConfig, readConfig, USAGE } from './config.js';
import { createApp, openImplementation } from './create-app.js';
import { Draining } from './health/readiness.js';
import { HANDLER_TIMEOUT_MS } from './http/limits.js';
import { openMetrics } from './open-metrics.js';

type Address = Pick<ApiConfig, 'host' | 'port'>;

const ADDRESS_MISTAKES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use. Stop the other process, or set PORT to another port (0 takes a free one).',
  EACCES: 'may not be used by this user. Set PORT to 1024 or more.',
  EADDRNOTAVAIL: 'is not an address of this machine. Set HOST to an address of this machine.',
  ENOTFOUND: 'cannot be resolved. Set HOST to an address.',
};

/** Reports a wrong address before the start touches a database. @throws ConfigError */
async function checkAddress(address: Address): Promise<void> {
  const probe = createServer();
  try {
    await once(probe.listen(address.port, address.host), 'listening');
  } catch (error) {
    throw explained(error, address);
  } finally {
    probe.close();
  }
}

/** @throws ConfigError if the service cannot listen on the address */
async function listen(app: NestFastifyApplication, address: Address): Promise<void> {
  try {
    await app.listen(address.port, address.host);
  } catch (error) {
    throw explained(error, address);
  }
}

function explained(error: unknown, { host, port }: Address): unknown {
  const mistake = ADDRESS_MISTAKES[(error as NodeJS.ErrnoException).code ?? ''];
  return mistake === undefined ? error : new ConfigError([`${host}:${port} ${mistake}`]);
}

/** How long readiness fails before the service stops listening, so that a load balancer stops sending requests. */
const ANNOUNCE_MS = 2_000;
/** Requests that arrive in that time still have the whole time of a handler. */
const STOP_WITHIN_MS = ANNOUNCE_MS + HANDLER_TIMEOUT_MS + 1_000;

const draining = new Draining();
let log = createLogger({ logLevel: 'info', logPretty: false });

async function start(signal: AbortSignal): Promise<RunningService> {
  const config = readConfig();
  const tracing = await startTracing(config.tracing, (event) => logExport(event, log));
  log = createLogger(config, tracing && (() => ({ ...tracing.activeIds() })));
  await checkAddress(config);
  const implementation = await openImplementation(config, log, { tracing, signal });
  let app: NestFastifyApplication | undefined;
  let metrics: OperatorServer | undefined;
  try {
    metrics = await openMetrics(config, implementation, draining);
    if (metrics) log.info({ metricsPort: metrics.port }, 'metrics');
    app = await createApp({ config, implementation, log, draining, tracing });
    if (!draining.begun) {
      await listen(app, config);
      await implementation.onListening();
    }
  } catch (error) {
    await app?.close();
    await metrics?.close();
    await implementation.close();
    await tracing?.close(flushMs());
    throw error;
  }
  if (!draining.begun) console.log(readyLine(config, await app.getUrl(), implementation));
  return { stop: (signal, leftMs) => stop({ app, metrics, implementation, tracing }, signal, leftMs) };
}

interface Started {
  readonly app: NestFastifyApplication;
  readonly metrics: OperatorServer | undefined;
  readonly implementation: Implementation;
  readonly tracing: Tracing | undefined;
}

async function stop(
  { app, metrics, implementation, tracing }: Started,
  signal: NodeJS.Signals,
  leftMs: () => number,
): Promise<void> {
  if (signal === 'SIGTERM') await new Promise((resolve) => setTimeout(resolve, ANNOUNCE_MS));
  await app.close();
  await metrics?.close();
  await implementation.close();
  await tracing?.close(flushMs(leftMs()));
}

function readyLine({ docs, tokens, deployment }: ApiConfig, url: string, { place }: Implementation): string {
  const lines = [`Ready on ${url}${docs ? ` - docs page: ${url}/docs` : ''}`];
  if (place !== undefined) lines.push(`A gateway of ${place}`);
  if (tokens.some(({ source }) => source.kind === 'local')) {
    lines.push(`A token: npm run -s token -- ${deployment.demo ? 'ada@northwind.example' : '<email>'}`);
  }
  return lines.join('\n');
}

runService({
  usage: USAGE,
  start,
  onStopping: (signal) => {
    draining.begin();
    log.info(`${signal}: stopping`);
  },
  onStopped: () => log.info('stopped'),
  stopWithinMs: STOP_WITHIN_MS,
  leftRunning: describeLeftServers,
  isOperatorError: (error) => isOperatorError(error) || error instanceof LocalIssuerError,
});
