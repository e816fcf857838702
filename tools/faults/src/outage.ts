import { setTimeout as sleep } from 'node:timers/promises';
import { send } from './call.js';
import type { Violation } from './check-orders.js';
import type { Cluster, Member } from './cluster.js';

const OUTAGE_MS = 10_000;
const UNREADY_WITHIN_MS = 2_000;
const READY_WITHIN_MS = 5_000;
const PROBE_MS = 100;

/** What the health checks of a process reported, and when each was sent. */
interface Probe {
  readonly at: number;
  readonly ready: number | undefined;
  readonly live: number | undefined;
}

/**
 * Stops PostgreSQL at once and keeps it away for ten seconds. Meanwhile each api process must become not ready within two seconds, and
 * ready again within five seconds of the return; it must be alive all the time.
 */
export async function stopForAWhile({ database, apis, members }: Cluster): Promise<Violation[]> {
  const ended = new AbortController();
  const watched = apis.map((member) => probe(member, ended.signal));
  const goneAt = Date.now();
  for (const { proxy } of members) proxy.refuse();
  await database.endPostmaster('SIGQUIT');
  await sleep(Math.max(0, OUTAGE_MS - (Date.now() - goneAt)));
  const backAt = Date.now();
  for (const { proxy } of members) proxy.accept();
  await sleep(READY_WITHIN_MS + 10 * PROBE_MS);
  ended.abort();
  const probes = await Promise.all(watched);
  return apis.flatMap(({ process }, index) => judge(process.name, probes[index] ?? [], goneAt, backAt));
}

async function probe({ process }: Member, signal: AbortSignal): Promise<Probe[]> {
  const probes: Probe[] = [];
  while (!signal.aborted) {
    const at = Date.now();
    const [ready, live] = await Promise.all(['ready', 'live'].map((path) => statusOf(`${process.url}/health/${path}`)));
    probes.push({ at, ready, live });
    await sleep(PROBE_MS, undefined, { signal }).catch(() => undefined);
  }
  return probes;
}

async function statusOf(url: string): Promise<number | undefined> {
  return (await send(url, { method: 'GET', headers: {}, signal: AbortSignal.timeout(20_000) })).status;
}

/** Exported for its spec. */
export function judge(name: string, probes: readonly Probe[], goneAt: number, backAt: number): Violation[] {
  const found: string[] = [];
  const during = probes.filter(({ at }) => at >= goneAt + UNREADY_WITHIN_MS && at < backAt);
  if (during.some(({ ready }) => ready === 200))
    found.push(`was ready ${UNREADY_WITHIN_MS} ms after PostgreSQL had stopped`);
  const after = probes.filter(({ at }) => at >= backAt + READY_WITHIN_MS);
  if (after.some(({ ready }) => ready !== 200)) found.push(`was not ready ${READY_WITHIN_MS} ms after the return`);
  if (during.length === 0 || after.length === 0) found.push('did not respond to its health checks');
  if (probes.some(({ live }) => live !== 200)) found.push('was not alive without PostgreSQL');
  return found.map((detail) => ({ check: 'readiness', detail: `${name} ${detail}` }));
}
