import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Deployment, openDeployment } from '@banking/operations';
import { type Config, ConfigError, readConfig } from './config.js';
import { createApp } from './create-app.js';
import { Draining } from './health/readiness.js';
import { createLogger } from './http/logger.js';

/** A load balancer learns within this time that we are going, before we stop to listen. */
const ANNOUNCE_MS = 2_000;
const HARD_EXIT_MS = 15_000;

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLogger(config);
  const deployment = await openDeployment({
    databaseUrl: config.databaseUrl,
    ownerUrl: config.databaseOwnerUrl,
    dataDir: config.dataDir,
    demo: config.demoData,
    poolSize: config.databasePoolSize,
    nameStatements: config.databaseNamedStatements,
    log: (line) => log.info(line),
  });
  try {
    const app = await createApp(config, deployment, log);
    await app.listen(config.port, config.host);
    stopOnSignal(app, deployment, (message) => log.info(message));
    console.log(readyLine(config, await app.getUrl()));
  } catch (error) {
    await deployment.close();
    throw error;
  }
}

function readyLine({ docs, tokens, demoData }: Config, url: string): string {
  const lines = [`Ready on ${url}${docs ? ` - docs page: ${url}/docs` : ''}`];
  if (tokens.source.kind === 'local') {
    lines.push(`A token: npm run -s token -- ${demoData ? 'ada@northwind.example' : '<email>'}`);
  }
  return lines.join('\n');
}

/** Finishes what is in flight, then leaves. The first signal asks; a second one, or fifteen seconds, insists. */
function stopOnSignal(app: NestFastifyApplication, deployment: Deployment, log: (message: string) => void): void {
  const stop = async (signal: NodeJS.Signals) => {
    const draining = app.get(Draining);
    if (draining.begun) process.exit(1);
    draining.begun = true;
    log(`${signal}: stopping`);
    setTimeout(() => process.exit(1), HARD_EXIT_MS).unref();
    if (signal === 'SIGTERM') await new Promise((resolve) => setTimeout(resolve, ANNOUNCE_MS));
    await app.close();
    await deployment.close();
    log('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop(signal).catch((error: unknown) => {
        console.error(error);
        process.exit(1);
      });
    });
  }
}

main().catch((error: unknown) => {
  const isExpected = error instanceof ConfigError || (error instanceof Error && error.name.endsWith('Error') && error.constructor !== Error); // prettier-ignore
  console.error(isExpected && error instanceof Error ? error.message : error);
  process.exit(error instanceof ConfigError ? 2 : 1);
});
