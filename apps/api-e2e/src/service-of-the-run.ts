import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publish } from './config.js';
import { bugsIn, secretsIn } from './log-lines.js';
import { demoDataDir, RunningService } from './running-service.js';
import type { PublishedService } from './service.js';
import { readDemoIds } from './world.js';

const OUTPUT = join(__dirname, '..', 'test-output');

/** For globalSetup of Jest: starts the service of the run, and publishes its address to the workers in the environment. */
export async function startForTheRun(): Promise<{ finish(): Promise<void> }> {
  const folder = await demoDataDir();
  const dataDir = folder.path;
  const logFile = join(OUTPUT, 'service.log');
  mkdirSync(OUTPUT, { recursive: true });
  writeFileSync(logFile, '');
  try {
    const service = await RunningService.start({ dataDir, logFile, environment: { LOG_LEVEL: 'debug' } });
    const world = await readDemoIds(dataDir);
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
