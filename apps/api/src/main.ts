import { once } from 'node:events';
import { createServer } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { LocalIssuerError } from '@banking/local-issuer';
import { DeploymentError } from '@banking/operations';
import { DatabaseSetupError, EmbeddedServerError, MigrationError } from '@banking/postgres';
import { ConfigError } from '@banking/process';
import { type Backing, openBacking } from './backing.module.js';
import { type Config, readConfig } from './config.js';
import { createApp } from './create-app.js';
import { Draining } from './health/readiness.js';
import { createLogger } from './http/logger.js';
import { HANDLER_TIMEOUT_MS } from './http/limits.js';
import { answerArguments } from './usage.js';

/** A load balancer learns within this time that we are going, before we stop to listen. */
const ANNOUNCE_MS = 2_000;
/** Whoever comes while we announce it has all the time an answer may take. */
const HARD_EXIT_MS = ANNOUNCE_MS + HANDLER_TIMEOUT_MS + 1_000;
/** A terminal and npm both pass Ctrl-C on: what comes twice within this time was asked once. */
const SAME_SIGNAL_MS = 1_000;

async function main(): Promise<void> {
  const answer = answerArguments(process.argv.slice(2));
  if (answer !== undefined) {
    (answer.isMistake ? process.stderr : process.stdout).write(answer.text);
    process.exitCode = answer.isMistake ? 2 : 0;
    return;
  }
  const config = readConfig();
  const log = createLogger(config);
  const draining = new Draining();
  const started = start(config, log, draining);
  stopOnSignal(started, draining, (message) => log.info(message));
  const { app, backing } = await started;
  if (!draining.begun) console.log(readyLine(config, await app.getUrl(), backing));
}

interface Running {
  readonly app: NestFastifyApplication;
  readonly backing: Backing;
}

async function start(config: Config, log: Logger, draining: Draining): Promise<Running> {
  await tryAddress(config);
  const backing = await openBacking(config, log);
  let app: NestFastifyApplication | undefined;
  try {
    app = await createApp(config, backing, log, draining);
    await listen(app, config);
    await backing.begin();
    return { app, backing };
  } catch (error) {
    await app?.close();
    await backing.close();
    throw error;
  }
}

const WHY_NOT_LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use. Stop what listens there, or set PORT to another port (0 takes a free one).',
  EACCES: 'may not be used by this user. Set PORT to 1024 or more.',
  EADDRNOTAVAIL: 'is no address of this machine. Set HOST to one that is.',
  ENOTFOUND: 'is no name this machine knows. Set HOST to an address.',
};

/** A mistaken address is said before a database is touched. */
async function tryAddress({ host, port }: Config): Promise<void> {
  const probe = createServer();
  try {
    await once(probe.listen(port, host), 'listening');
  } catch (error) {
    throw explainAddress(error, host, port);
  } finally {
    probe.close();
  }
}

async function listen(app: NestFastifyApplication, { host, port }: Config): Promise<void> {
  try {
    await app.listen(port, host);
  } catch (error) {
    throw explainAddress(error, host, port);
  }
}

function explainAddress(error: unknown, host: string, port: number): unknown {
  const why = WHY_NOT_LISTENING[(error as NodeJS.ErrnoException).code ?? ''];
  return why === undefined ? error : new ConfigError([`${host}:${port} ${why}`]);
}

function readyLine({ docs, tokens, deployment }: Config, url: string, { place }: Backing): string {
  const lines = [`Ready on ${url}${docs ? ` - docs page: ${url}/docs` : ''}`];
  if (place !== undefined) lines.push(`A gateway of ${place}`);
  if (tokens.source.kind === 'local') {
    lines.push(`A token: npm run -s token -- ${deployment.demo ? 'ada@northwind.example' : '<email>'}`);
  }
  return lines.join('\n');
}

/**
 * Finishes what is in flight, then leaves; a start that is under way is finished first, so that nothing half-started stays
 * behind. The first signal asks; a second one, or eighteen seconds, insists.
 */
function stopOnSignal(started: Promise<Running>, draining: Draining, log: (message: string) => void): void {
  let askedAtMs = 0;
  const stop = async (signal: NodeJS.Signals) => {
    if (draining.begun) {
      if (performance.now() - askedAtMs > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    askedAtMs = performance.now();
    draining.begun = true;
    log(`${signal}: stopping`);
    setTimeout(() => process.exit(1), HARD_EXIT_MS).unref();
    const { app, backing } = await started;
    if (signal === 'SIGTERM') await new Promise((resolve) => setTimeout(resolve, ANNOUNCE_MS));
    await app.close();
    await backing.close();
    log('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop(signal).catch(giveUp);
    });
  }
}

/** What an operator can mend. Its sentence says how; a stack would only hide it. */
const MENDABLE = [
  ConfigError,
  DatabaseSetupError,
  DeploymentError,
  EmbeddedServerError,
  LocalIssuerError,
  MigrationError,
];

function giveUp(error: unknown): never {
  const mendable = MENDABLE.some((kind) => error instanceof kind);
  console.error(mendable ? (error as Error).message : error);
  process.exit(error instanceof ConfigError ? 2 : 1);
}

main().catch(giveUp);
