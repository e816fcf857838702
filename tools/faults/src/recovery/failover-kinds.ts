import { setTimeout as sleep } from 'node:timers/promises';
import type { RecoveredServer, RecoveryKind, RecoveryRun } from './recovery-run.js';
import { startReplica } from './start-replica.js';

/** Orders are retried for a minute. A failover that takes longer is none. */
const FIRST_ORDER_MS = 60_000;

/**
 * The primary is killed and the replica promoted while the clients go on. DATABASE_URL names both servers, so nothing is switched or
 * restarted: the processes find the new primary themselves.
 */
const failover = (isSynchronous: boolean): RecoveryKind => ({
  name: isSynchronous ? 'failover-sync' : 'failover-async',
  title: `two hosts in DATABASE_URL, a${isSynchronous ? ' synchronous' : 'n asynchronous'} replica promoted under load`,
  hasTwoHosts: true,
  // What a synchronous replica confirmed is not lost, so the worker goes on too. Otherwise it stops, as docs/postgresql.md describes.
  keepsWorker: isSynchronous,
  advanceIds: !isSynchronous,
  async recover(run: RecoveryRun): Promise<RecoveredServer> {
    const { options, primary, service, load, timed } = run;
    const seconds: Record<string, number> = {};
    const server = await startReplica(run, isSynchronous, seconds);
    await load.more(options.orders);

    if (!isSynchronous) await service.killWorker();
    const killedAt = Date.now();
    await primary.stop('SIGQUIT');
    await timed('promotion', seconds, () => server.promote());
    // The last responses of the old primary have arrived by now.
    const before = load.acknowledged;
    const until = Date.now() + FIRST_ORDER_MS;
    while (load.acknowledged === before) {
      if (Date.now() > until) throw new Error('the service acknowledges no order after the promotion');
      await sleep(5);
    }
    seconds['from the kill to the first order'] = (Date.now() - killedAt) / 1000;
    await load.more(options.orders);
    return {
      ...{ server, seconds, moment: { keptUntil: isSynchronous ? Infinity : 0, lostFrom: Infinity } },
      violations: service.ownEnds,
    };
  },
});

export const FAILOVER_KINDS: readonly RecoveryKind[] = [failover(true), failover(false)];
