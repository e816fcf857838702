import { setTimeout as sleep } from 'node:timers/promises';
import { send } from './call.js';
import type { Violation } from './check-orders.js';
import type { Cluster } from './cluster.js';

/** Under load, PostgreSQL writes to the disk in less. */
const FULL_MIN_MS = 2_000;
const READY_WITHIN_MS = 5_000;
const PROBE_MS = 100;

interface FullDisk {
  readonly lastsMs: number;
  /** Whether the write-ahead log also needs space, so that PostgreSQL stops with a PANIC. Otherwise statements fail with 53100. */
  readonly isWalFull: boolean;
}

/**
 * Fills the disk of PostgreSQL for a time. Once there is space and PostgreSQL takes queries again, each api process must be ready within
 * five seconds.
 *
 * @returns the target; undefined if the database has no disk of its own, or its log had space
 */
export async function fillDisk(
  { database, apis, disk }: Cluster,
  { lastsMs, isWalFull }: FullDisk,
  report: (violations: readonly Violation[]) => void,
): Promise<string | undefined> {
  if (disk === undefined) return undefined;
  const until = Date.now() + Math.max(lastsMs, FULL_MIN_MS);
  disk.fill();
  const isStopped = isWalFull && (await exhaustWal(database, until));
  await sleep(Math.max(0, until - Date.now()));
  disk.free();
  await database.ready();
  const backAt = Date.now();
  report((await Promise.all(apis.map((api) => checkReady(api, backAt)))).flat());
  return isWalFull && !isStopped ? undefined : 'disk of PostgreSQL';
}

/** Ends one segment of the log after another, until there is none for the next one. @returns whether PostgreSQL stopped */
async function exhaustWal(database: Cluster['database'], until: number): Promise<boolean> {
  while (Date.now() < until) {
    try {
      await database.query('select pg_switch_wal()');
    } catch {
      return true;
    }
  }
  return false;
}

async function checkReady({ process }: Cluster['apis'][number], backAt: number): Promise<Violation[]> {
  while ((await statusOf(`${process.url}/health/ready`)) !== 200) {
    if (Date.now() - backAt > READY_WITHIN_MS) {
      const detail = `${process.name} was not ready ${READY_WITHIN_MS} ms after PostgreSQL had space and took queries`;
      return [{ check: 'readiness', detail }];
    }
    await sleep(PROBE_MS);
  }
  return [];
}

async function statusOf(url: string): Promise<number | undefined> {
  return (await send(url, { method: 'GET', headers: {}, signal: AbortSignal.timeout(20_000) })).status;
}
