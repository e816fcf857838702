import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDeployment } from '@banking/deployment';
import { makeDemoData, readDemoIds } from '@banking/operations/demo';
import { SCHEMA } from '@banking/postgres';
import { analyzeTables } from '@banking/postgres/testing';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { fillBooks, sampleTransfers } from './fill-books.js';
import { type BenchTarget, startService } from './service.js';

const SAMPLE = 300;

/** One database with its service, and the paths of transfers that are asked for. */
export interface World {
  readonly dataDir: string;
  readonly service: BenchTarget;
  readonly transferPaths: readonly string[];
  /** The transfers of the demo data among them, one of each kind. */
  readonly demoTransfers: readonly number[];
  /** The transfers that were posted between accounts to fill the books. */
  readonly filled: number;
}

interface Stoppable {
  stop(): Promise<void>;
}

/** What a bench makes, and what stops it again. */
export interface Workshop {
  /** A folder of its own, by name. */
  folder(name: string): string;
  /** Keeps in mind what is to be stopped. */
  runs<T extends Stoppable>(running: T): T;
}

/** Gives a bench a place to work in, of which nothing is left afterwards, however it ends. */
export async function inWorkshop<T>(work: (workshop: Workshop) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'banking-bench-'));
  // As root, the database server runs as another user, who must enter the folder.
  await chmod(home, 0o711);
  try {
    return await withProcesses((runs) => work({ folder: (name) => join(home, name), runs }));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Stops what a run has started, the last one first, however it ends. */
export async function withProcesses<T>(work: (runs: Workshop['runs']) => Promise<T>): Promise<T> {
  const all: Stoppable[] = [];
  try {
    return await work((running) => (all.push(running), running));
  } finally {
    for (const running of all.reverse()) await running.stop();
  }
}

/** Gives all tables of a database their statistics. */
export async function analyzeWorld(dataDir: string): Promise<void> {
  const embedded = await attachEmbeddedServer({ dataDir });
  await analyzeTables(embedded.connection, SCHEMA);
  await embedded.detach();
}

/** Makes demo data with this many transfers in its books, and starts a service on it. */
export async function makeWorld(
  dataDir: string,
  transfers: number,
  onProgress: (line: string) => void,
): Promise<World> {
  onProgress(`A database with ${transfers} transfers`);
  const deployment = await openDeployment({ dataDir, isSandbox: true, statementTimeoutMs: 60_000 });
  try {
    await makeDemoData(deployment);
    let tenths = 0;
    const filled = await fillBooks(deployment, transfers, (there) => {
      if (Math.floor((10 * there) / transfers) <= tenths) return;
      tenths = Math.floor((10 * there) / transfers);
      onProgress(`  ${there} of ${transfers}`);
    });
    await analyzeWorld(dataDir);
    const demo = await readDemoIds(deployment.database);
    // Half of the requested transfers are those of the demo data, one of each kind. The other half are spread over the books.
    const kinds = Object.values(demo?.transfers ?? {});
    const ids = (await sampleTransfers(deployment, SAMPLE)).flatMap((id, index) => [id, kinds[index % kinds.length]]);
    return {
      dataDir,
      service: await startService(dataDir),
      transferPaths: ids.map((id) => `/transfers/${id}`),
      demoTransfers: kinds,
      filled,
    };
  } finally {
    await deployment.close();
  }
}
