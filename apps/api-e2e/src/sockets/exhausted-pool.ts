import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { bind, Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { HttpSender } from '../fuzz/http-sender.js';
import type { FreshService } from '../documented/fresh-service.js';
import type { Measured } from './scenarios.js';

const REQUESTS = 500;
/** One address may hold a quarter of the connections. */
const ADDRESSES = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];
const RESPONSE_MS_MAX = 2_000;
const RECOVERY_MS_MAX = 2_000;
const GROWTH_MIB_MAX = 64;

const LOCK = sqlStatement<Record<string, never>>(
  'lock_accounts',
  'lock table banking.account in access exclusive mode',
);

/** Holds every database connection of the service by a lock on a table that each request reads. */
export async function exhaustPool(service: FreshService, authorization: string, pid: number): Promise<Measured[]> {
  const server = await attachEmbeddedServer({ dataDir: service.dataDir });
  const owner = await Database.open({ connection: server.connection, role: OWNER_ROLE });
  const senders = ADDRESSES.map((address) => new HttpSender(service.url, REQUESTS, address));
  const read = async (at = 0) => {
    const startedAt = performance.now();
    const headers = { Authorization: authorization, 'Workspace-ID': '1' };
    const sent = senders[at % senders.length]?.send({ method: 'GET', path: '/accounts/1', headers });
    if (sent === undefined) throw new Error('there is no address');
    const { status, headers: received } = await sent;
    return { status, ms: performance.now() - startedAt, hasRetryAfter: received.has('retry-after') };
  };
  try {
    await read();
    const before = await residentMib(pid);
    let largest = before;
    const responses = await owner.transaction({ workspaces: [1] }, async (tx) => {
      await tx.pipeline([bind(LOCK)] as const);
      const pending = Promise.all(Array.from({ length: REQUESTS }, (_, at) => read(at)));
      let isDone = false;
      void pending.finally(() => (isDone = true)).catch(() => undefined);
      while (!isDone) {
        largest = Math.max(largest, await residentMib(pid));
        await sleep(20);
      }
      return pending;
    });
    const releasedAt = performance.now();
    await until(read, ({ status }) => status === 200);
    const recoveredMs = performance.now() - releasedAt;
    const orderly = responses.filter(({ status, hasRetryAfter }) => status === 503 && hasRetryAfter).length;
    const slowest = Math.max(...responses.map(({ ms }) => ms));
    return [
      {
        what: 'exhausted pool: 503 with Retry-After',
        figure: `${orderly} of ${REQUESTS}`,
        limit: 'all',
        isMet: orderly === REQUESTS,
      },
      {
        what: 'exhausted pool: slowest response',
        figure: `${(slowest / 1000).toFixed(2)} s`,
        limit: '2 s',
        isMet: slowest <= RESPONSE_MS_MAX,
      },
      {
        what: 'exhausted pool: growth of memory',
        figure: `${(largest - before).toFixed(0)} MiB`,
        limit: '64 MiB',
        isMet: largest - before <= GROWTH_MIB_MAX,
      },
      {
        what: 'exhausted pool: time to recover',
        figure: `${(recoveredMs / 1000).toFixed(2)} s`,
        limit: '2 s',
        isMet: recoveredMs <= RECOVERY_MS_MAX,
      },
    ];
  } finally {
    for (const sender of senders) sender.close();
    await owner.end();
    await server.detach();
  }
}

/** The resident memory of a process, an upper bound for the growth of its heap. Linux only. */
async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+([0-9]+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}
