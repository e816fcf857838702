import { FAILOVER_KINDS } from './failover-kinds.js';
import { DATABASE, type PostgresServer } from './postgres-server.js';
import type { RecoveredServer, RecoveryKind, RecoveryRun } from './recovery-run.js';
import { startReplica, waitFor } from './start-replica.js';

const dump: RecoveryKind = {
  name: 'dump',
  title: 'pg_dump and pg_restore into an empty cluster',
  advanceIds: true,
  async recover({ options, primary, service, load, replacement, timed }: RecoveryRun): Promise<RecoveredServer> {
    const seconds: Record<string, number> = {};
    const server = replacement;
    const [roles, books] = [`${server.folder}/roles.sql`, `${server.folder}/banking.dump`];
    const keptUntil = Date.now();
    await timed('pg_dump', seconds, async () => {
      await primary.run('pg_dumpall', ['--roles-only', '-f', roles], { onServer: true });
      await primary.run('pg_dump', ['-Fc', '-f', books, DATABASE], { onServer: true });
    });
    const lostFrom = Date.now();
    await load.more(options.orders);
    await load.stop();
    await loseServer({ primary, service });

    await server.initialize();
    await server.start();
    await timed('pg_restore', seconds, async () => {
      // It reports that the role postgres exists, and goes on.
      await server.run('psql', ['-q', '-d', 'postgres', '-f', roles], { onServer: true });
      await server.run('pg_restore', ['--create', '--exit-on-error', '-d', 'postgres', books], { onServer: true });
    });
    // A dump has no statistics. Without them, a verification of large books takes minutes.
    await timed('analyze', seconds, () =>
      server.run('psql', ['-q', '-d', DATABASE, '-c', 'analyze'], { onServer: true }),
    );
    service.switchTo(server.socket);
    return { server, seconds, moment: { keptUntil, lostFrom } };
  },
};

const pitr: RecoveryKind = {
  name: 'pitr',
  title: 'base backup and archived WAL, recovered to a moment',
  settings: (folder) => ['archive_mode = on', `archive_command = 'cp %p ${folder}/archive-%f'`],
  advanceIds: false,
  async recover({ options, primary, service, load, replacement, timed }: RecoveryRun): Promise<RecoveredServer> {
    const seconds: Record<string, number> = {};
    const server = replacement;
    await timed('pg_basebackup', seconds, () =>
      primary.run('pg_basebackup', ['-D', server.dataDir, '-c', 'fast'], { onServer: true }),
    );
    await load.more(options.orders);
    const [row] = await primary.query<{ time: string; ms: number }>(
      `select now::text as time, extract(epoch from now)::float8 * 1000 as ms from clock_timestamp() now`,
    );
    const { time, ms } = row as { time: string; ms: number };
    await load.more(options.orders);
    await load.stop();
    await primary.query('select pg_switch_wal()');
    await loseServer({ primary, service });

    await server.configure([
      ...['archive_mode = off', `restore_command = 'cp ${primary.folder}/archive-%f %p'`],
      ...[`recovery_target_time = '${time}'`, `recovery_target_action = 'promote'`],
    ]);
    await server.signalRecovery();
    await timed('recovery from the archive', seconds, () => server.start());
    service.switchTo(server.socket);
    return { server, seconds, moment: { keptUntil: ms, lostFrom: ms } };
  },
};

/** The worker submits what is due, which the recovered books will not know, and then everything stops. */
async function loseServer({ primary, service }: Pick<RecoveryRun, 'primary' | 'service'>): Promise<void> {
  await service.stop();
  await primary.stop();
}

const replica = (isSynchronous: boolean): RecoveryKind => ({
  name: isSynchronous ? 'replica-sync' : 'replica-async',
  title: `promotion of a${isSynchronous ? ' synchronous' : 'n asynchronous'} streaming replica under load`,
  advanceIds: false,
  async recover(run: RecoveryRun): Promise<RecoveredServer> {
    const { options, primary, service, load, timed } = run;
    const seconds: Record<string, number> = {};
    const server = await startReplica(run, isSynchronous, seconds);
    await load.more(options.orders);
    const startedAt = Date.now();
    await stopSending(primary);
    // Without a replica that confirms, a synchronous primary acknowledges nothing.
    if (isSynchronous) await waitForHeldCommits(primary);
    else await load.more(Math.ceil(options.orders / 4));
    await service.killWorker();
    await primary.stop('SIGQUIT');
    await timed('promotion', seconds, () => server.promote());
    service.switchTo(server.socket);
    await load.more(options.orders);
    seconds['from the last replicated order to the next ones'] = (Date.now() - startedAt) / 1000;
    return { server, seconds, moment: { keptUntil: isSynchronous ? Infinity : 0, lostFrom: Infinity } };
  },
});

/** Commits that wait for the replica. */
const waitForHeldCommits = (primary: PostgresServer) =>
  waitFor(
    primary,
    `select from pg_stat_activity where wait_event = 'SyncRep' and state_change < now() - interval '2 s'`,
  );

/** Stops the process that sends to the replica, as a network that is cut off. */
async function stopSending(primary: PostgresServer): Promise<void> {
  const senders = await primary.query<{ pid: number }>('select pid from pg_stat_replication');
  for (const { pid } of senders) process.kill(pid, 'SIGSTOP');
}

export const RECOVERY_KINDS: readonly RecoveryKind[] = [dump, pitr, replica(true), replica(false), ...FAILOVER_KINDS];
