import { SCHEMA } from '@banking/postgres';
import { analyzeTables } from '@banking/postgres/testing';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import type { Pair } from './comparison.js';
import type { Measured } from './load.js';
import { posting } from './orders.js';
import { makePayers } from './payers.js';
import { comparedOf, type Effort, type Result, resultOf } from './request.js';
import { startService } from './service.js';
import { makeNetworkFaster, settleAll, type SettlingGround } from './settled.js';
import { inWorkshop } from './world.js';

export interface FreshOptions extends Effort {
  readonly accounts: number;
}

const AIM = 0.9;

/** Measures a new database in its first minute under load, without any preparation, against the same database after ANALYZE. */
export function benchFresh(options: FreshOptions): Promise<Result> {
  return inWorkshop(async ({ folder }) => {
    const { rounds, seconds, onProgress } = options;
    const name = `Orders over HTTP, first ${seconds} s of a new database`;
    const control = 'the same database after ANALYZE';
    const pairs: Pair<Measured>[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      onProgress(`${name}: round ${round} of ${rounds}`);
      pairs.push(await measureNew(folder(`fresh-${round}`), options));
    }
    const comparison = { name, control, aim: AIM, pairs };
    onProgress(`  ${comparedOf(comparison).median.toFixed(2)} of ${control}`);
    return resultOf([comparison]);
  });
}

/** A database is new only once, so the new one is always first. Both are measured with a service that has just started. */
async function measureNew(dataDir: string, { accounts, connections, seconds }: FreshOptions): Promise<Pair<Measured>> {
  const payers = await makePayers(dataDir, { accounts, workspaces: 1, placing: 0 });
  await makeNetworkFaster(dataDir);
  const ground = { dataDir, payers: payers.accounts, connections };
  const ours = await placeFor(seconds, ground);
  await settleAll(dataDir);
  await analyze(dataDir);
  return { ours, control: await placeFor(seconds, ground) };
}

async function placeFor(seconds: number, ground: SettlingGround): Promise<Measured> {
  const service = await startService(ground.dataDir, { settings: { WORKER: 'on' } });
  try {
    return await posting(service, ground.payers, ground)(seconds);
  } finally {
    await service.stop();
  }
}

async function analyze(dataDir: string): Promise<void> {
  const server = await attachEmbeddedServer({ dataDir });
  try {
    await analyzeTables(server.connection, SCHEMA);
  } finally {
    await server.detach();
  }
}
