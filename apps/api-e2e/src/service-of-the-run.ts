import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bankingWith, demoDataDir, newDataDir, RunningService } from './running-service.js';
import { externalDatabase, publish } from './config.js';
import { bugsIn, secretsIn } from './log-lines.js';
import type { DemoIds, PublishedService } from './service.js';

const OUTPUT = join(__dirname, '..', 'test-output');

/** For globalSetup of Jest: starts the service of the run, and publishes its address to the workers in the environment. */
export async function startForTheRun(): Promise<{ finish(): Promise<void> }> {
  const databaseUrl = externalDatabase();
  const folder = databaseUrl === undefined ? await demoDataDir() : await newDataDir();
  const database =
    databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl, SANDBOX: 'on', DEMO_DATA: 'on', WORKER: 'on' };
  const dataDir = folder.path;
  const logFile = join(OUTPUT, 'service.log');
  mkdirSync(OUTPUT, { recursive: true });
  writeFileSync(logFile, '');
  try {
    const service = await RunningService.start({ dataDir, logFile, environment: { ...database, LOG_LEVEL: 'debug' } });
    const world = JSON.parse(await bankingWith({ DATA_DIR: dataDir, ...database }, 'demo', '--json')) as DemoIds;
    publish(JSON.stringify({ url: service.url, world, dataDir, logFile } satisfies PublishedService));
    return {
      async finish() {
        await service.stop();
        await folder.remove();
        const log = readFileSync(logFile, 'utf8');
        const wrong = [...secretsIn(log), ...bugsIn(log)];
        if (wrong.length > 0) throw new Error(`the log of the run holds what it may not:\n${wrong.join('\n')}`);
      },
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}
