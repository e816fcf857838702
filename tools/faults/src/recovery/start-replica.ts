import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresServer } from './postgres-server.js';
import type { RecoveryRun } from './recovery-run.js';

const WAIT_MS = 60_000;

/** Starts a streaming replica of the primary, and waits until it receives. */
export async function startReplica(
  { primary, replacement: server, timed }: RecoveryRun,
  isSynchronous: boolean,
  seconds: Record<string, number>,
): Promise<PostgresServer> {
  await timed('pg_basebackup of the replica', seconds, () =>
    primary.run('pg_basebackup', ['-D', server.dataDir, '-c', 'fast', '-R', '-C', '-S', 'recovered'], {
      onServer: true,
    }),
  );
  await server.start({ isPrimary: false });
  if (isSynchronous) {
    await primary.query(`alter system set synchronous_standby_names = '*'`);
    await primary.query('select pg_reload_conf()');
  }
  await waitFor(
    primary,
    `select from pg_stat_replication where state = 'streaming' and sync_state = '${isSynchronous ? 'sync' : 'async'}'`,
  );
  return server;
}

/** @throws Error if the query returns no row in a minute */
export async function waitFor(primary: PostgresServer, query: string): Promise<void> {
  const until = Date.now() + WAIT_MS;
  while ((await primary.query(query)).length === 0) {
    if (Date.now() > until) throw new Error(`the state was not reached: ${query}`);
    await sleep(50);
  }
}
