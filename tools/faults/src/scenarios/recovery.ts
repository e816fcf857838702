import { setTimeout as sleep } from 'node:timers/promises';
import { checkOrders, readBooks, strayPayments } from '../books.js';
import { type Operation, operationsOf } from '../client-log.js';
import type { Cluster, ClusterOptions } from '../cluster.js';
import { runLoad } from '../load.js';
import { sendOrder } from '../orders.js';
import { noteFault, type RunContext, type Scenario, violationsOf } from '../scenario.js';
import { type InstalledServer, programsFolder, type Server } from '../servers.js';
import { makeWorld } from '../world.js';

/** What the recovered books must have and must not have, by the clock of the clients: milliseconds. */
interface Moment {
  readonly keptUntil: number;
  readonly lostFrom: number;
}

/** A server under load that will be lost, another one without data, and the load. */
interface Recovery {
  readonly cluster: Cluster;
  readonly primary: InstalledServer;
  readonly replacement: InstalledServer;
  /** Waits for more acknowledged orders. @throws Error if there are none for two minutes */
  more(orders?: number): Promise<void>;
  stopLoad(): Promise<void>;
  timed<T>(step: string, work: () => Promise<T>): Promise<T>;
}

interface Kind {
  readonly name: string;
  readonly installed?: ClusterOptions['installed'];
  /** Whether the worker goes on. Then the network is that of the recovered books. */
  readonly keepsWorker?: boolean;
  /** As docs/maintain.md describes; without it the ids of lost orders are given again. */
  readonly advancesIds?: boolean;
  /** Loses the server and recovers another one, while the load runs or after it has stopped. */
  recover(recovery: Recovery): Promise<Moment>;
}

const STALLED_MS = 120_000;
/** Orders of each kind that are sent again after the recovery. */
const SENT_AGAIN_MAX = 30;
const ADVANCE_IDS = `
  select setval(format('banking.%I', sequencename), last_value + 1000000)
  from pg_sequences where schemaname = 'banking' and last_value is not null`;

/** Places orders, loses the server, recovers the books, and does what docs/maintain.md and docs/postgresql.md tell an operator to do. */
function recovery({ name, installed = {}, keepsWorker, advancesIds, recover }: Kind): Scenario {
  return {
    ...{ name, faults: ['server-lost'], phase: 'alone', minutesMax: 1.5, cluster: { installed } },
    missing: () => (programsFolder() === undefined ? 'programs of PostgreSQL are not installed' : undefined),
    async run(context) {
      const { cluster, log, sizes, tally } = context;
      const { primary, replacement } = cluster.installed;
      if (sizes.transfers > 0) await cluster.postTransfers(sizes.transfers);
      const world = await makeWorld(cluster.endpoint, { pool: 6, owned: 16 });
      const ended = new AbortController();
      const running = runLoad(context, { world, signal: ended.signal });
      running.catch(() => undefined);
      const stopLoad = async () => {
        ended.abort();
        await running;
      };
      const timed: Recovery['timed'] = async (step, work) => {
        const beganAt = Date.now();
        const result = await work();
        tally.notes.push(`${step} ${((Date.now() - beganAt) / 1_000).toFixed(1)} s`);
        return result;
      };
      const more = (orders = sizes.orders) => moreOrders(context, orders);
      await more();
      const moment = await recover({ cluster, primary, replacement, more, stopLoad, timed });
      await stopLoad();
      await noteFault(context, 'server-lost', name);
      await killWorkers(cluster);
      const network = keepsWorker ? await readNetwork(replacement) : await readLostNetwork(primary);

      const operations = operationsOf(log.events);
      const { kept, lost } = await compareBooks(context, replacement, operations, moment);
      const { exitCode, output } = await timed('verify', () => cluster.runCommand('verify', '--json'));
      if (exitCode !== 0) tally.violate('books', `banking verify: ${output.slice(-2_000)}`);
      await writeNetwork(replacement, network);
      const expected = await reconcile(context, replacement);
      tally.notes.push(`${lost.length} lost orders, ${expected.length} lost payments`);
      if (advancesIds) await replacement.query(ADVANCE_IDS);
      await cluster.heal();
      for (const operation of [...kept.slice(-SENT_AGAIN_MAX), ...lost.slice(0, SENT_AGAIN_MAX)]) {
        await sendAgain(context, operation, kept.includes(operation));
      }
      tally.count('recovered');
      const check = async () => [
        ...violationsOf('payouts', await paymentFaults(replacement)),
        ...violationsOf(
          'recovery',
          same(await strayPayments(replacement), expected, 'lost payments after new payouts'),
        ),
      ];
      return { isCompared: true, check };
    },
  };
}

async function moreOrders({ tally }: RunContext, orders: number): Promise<void> {
  const goal = (tally.figures.acknowledged ?? 0) + orders;
  let last = 0;
  let until = 0;
  for (;;) {
    const acknowledged = tally.figures.acknowledged ?? 0;
    if (acknowledged >= goal) return;
    if (acknowledged > last) until = Date.now() + STALLED_MS;
    last = acknowledged;
    if (until > 0 && Date.now() > until) throw new Error('the service acknowledges no more orders');
    await sleep(5);
  }
}

async function killWorkers({ workers }: Cluster): Promise<void> {
  for (const { process } of workers) await process.kill();
}

async function compareBooks(
  { tally, prefix }: RunContext,
  server: Server,
  operations: readonly Operation[],
  { keptUntil, lostFrom }: Moment,
) {
  const books = await readBooks([server], prefix);
  const booked = new Set(books.orders.map(({ key }) => key));
  const acknowledged = operations.filter(({ outcome }) => outcome === 'ok');
  const kept = acknowledged.filter(({ key }) => booked.has(key));
  const lost = acknowledged.filter(({ key }) => !booked.has(key));
  const early = lost.filter(({ acknowledgedAt }) => acknowledgedAt! < keptUntil);
  const late = operations.filter(({ key, sentAt }) => booked.has(key) && sentAt > lostFrom);
  tally.violate('acknowledged', ...early.map(({ key }) => `${key} was acknowledged before the moment, and is lost`));
  tally.violate('recovery', ...late.map(({ key }) => `${key} was sent after the moment, and is in the books`));
  const present = operations.filter(({ key, outcome }) => booked.has(key) || outcome !== 'ok');
  tally.addViolations(checkOrders(present, books));
  return { kept, lost };
}

/** Runs `banking work reconcile`, which must list exactly the payments that the books lack. @returns their keys */
async function reconcile({ cluster, tally }: RunContext, server: Server): Promise<string[]> {
  const expected = await strayPayments(server);
  for (const options of [[], ['--apply'], ['--apply', '--again']]) {
    const isAgain = options.includes('--again');
    const { exitCode, stdout, output } = await cluster.runCommand(
      ...['work', 'reconcile', '--json', ...options.filter((one) => one !== '--again')],
    );
    if (stdout === '') throw new Error(`banking work reconcile ended with ${exitCode}: ${output}`);
    const { lagging, differences } = JSON.parse(stdout) as {
      readonly lagging: readonly unknown[];
      readonly differences: readonly { readonly kind: string; readonly key: string }[];
    };
    const isLost = ({ kind }: { readonly kind: string }) => kind === 'payment_not_in_books';
    const others = differences.filter((one) => !isLost(one)).map(({ kind, key }) => `reconcile: ${kind} ${key}`);
    if (exitCode !== (differences.length > 0 ? 1 : 0)) others.push(`reconcile ended with ${exitCode}`);
    if (isAgain && lagging.length > 0) others.push('a second reconcile records events again');
    const found = differences.filter(isLost).map(({ key }) => key);
    tally.violate('recovery', ...others, ...same(found.sort(), expected, 'payments in reconcile'));
  }
  return expected;
}

const same = (found: readonly string[], expected: readonly string[], what: string) =>
  found.join() === expected.join() ? [] : [`${found.length} ${what}, and ${expected.length} are expected`];

/** Sends an order of the log again, as a client does after a restore: with the same key and body. */
async function sendAgain({ cluster, log, tally }: RunContext, operation: Operation, isKept: boolean): Promise<void> {
  const { key, workspaceId, accountId, recipientId, amount, isPayout, orderIds } = operation;
  const order = { key, workspaceId, accountId, recipientId, amount, isPayout };
  const { outcome, orderId, reason } = await sendOrder({ endpoint: cluster.endpoint, log }, order, 0);
  if (outcome !== 'ok') tally.violate('recovery', `${key} sent again was not acknowledged: ${reason}`);
  else if (isKept && orderId !== orderIds[0]) tally.violate('recovery', `${key} sent again made another order`);
}

/**
 * The payments of the sandbox network. It stores them in the database of the books, and a real network does not: a recovery of the books
 * does not undo payments. A run therefore copies them from the lost server.
 */
interface NetworkCopy {
  readonly payments: string;
  readonly events: string;
}

async function readNetwork(server: Server): Promise<NetworkCopy> {
  const [row] = await server.query<NetworkCopy>(
    `select (select coalesce(json_agg(p), '[]') from sandbox_rail_payment p)::text as payments,
            (select coalesce(json_agg(e), '[]') from sandbox_rail_event e)::text as events`,
  );
  return row!;
}

/** The network goes on until the worker is killed. The lost server, of which no service may learn, still has it. */
async function readLostNetwork(lost: InstalledServer): Promise<NetworkCopy> {
  await lost.stop('SIGQUIT');
  await lost.start({ port: 5433 });
  const network = await readNetwork(lost);
  await lost.stop();
  return network;
}

async function writeNetwork(server: Server, { payments, events }: NetworkCopy): Promise<void> {
  await server.query('truncate sandbox_rail_event, sandbox_rail_payment');
  for (const [table, rows] of [['sandbox_rail_payment', payments] as const, ['sandbox_rail_event', events] as const]) {
    await server.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [rows]);
  }
  // A recovery takes longer than a payment of the network, so no event is still to come when the books are compared with it.
  await server.query('update sandbox_rail_event set due_at = least(due_at, statement_timestamp())');
}

async function paymentFaults(server: Server): Promise<string[]> {
  const rows = await server.query<{ fault: string }>(
    `select format('payout %s of workspace %s is %s, with %s submissions and the amount %s instead of %s', p.transaction_id,
                   p.workspace_id, p.status, coalesce(r.submissions, 0), r.amount, s.amount) as fault
     from payout p
     join leg s on (s.workspace_id, s.transaction_id) = (p.workspace_id, p.transaction_id) and s.direction = 'credit'
     join account o on (o.workspace_id, o.id) = (s.workspace_id, s.account_id) and o.kind = 'settlement'
     left join sandbox_rail_payment r on r.key = concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce)
     where p.tries > 0 and (p.status not in ('settled', 'failed') or r.submissions is distinct from 1 or r.amount <> s.amount)`,
  );
  return rows.map(({ fault }) => fault);
}

const dump: Kind = {
  name: 'dump',
  advancesIds: true,
  async recover({ cluster, primary, replacement: server, more, stopLoad, timed }) {
    const [roles, books] = [`${server.folder}/roles.sql`, `${server.folder}/banking.dump`];
    const keptUntil = Date.now();
    await timed('pg_dump', async () => {
      await primary.runOn('pg_dumpall', '--roles-only', '-f', roles);
      await primary.runOn('pg_dump', '-Fc', '-f', books, 'banking');
    });
    const lostFrom = Date.now();
    await more();
    await stopLoad();
    await loseServer(cluster, primary);
    await server.initialize();
    await timed('pg_restore', async () => {
      // It reports that the role postgres exists, and goes on.
      await server.runOn('psql', '-q', '-d', 'postgres', '-f', roles);
      await server.runOn('pg_restore', '--create', '--exit-on-error', '-d', 'postgres', books);
    });
    // A dump has no statistics. Without them, a verification of large books takes minutes.
    await timed('analyze', () => server.runOn('psql', '-q', '-d', 'banking', '-c', 'analyze'));
    cluster.replaceServer();
    return { keptUntil, lostFrom };
  },
};

const pitr: Kind = {
  name: 'pitr',
  installed: { settings: (folder) => ['archive_mode = on', `archive_command = 'cp %p ${folder}/archive-%f'`] },
  async recover({ cluster, primary, replacement: server, more, stopLoad, timed }) {
    await timed('pg_basebackup', () => primary.runOn('pg_basebackup', '-D', server.dataDir, '-c', 'fast'));
    await more();
    const [row] = await primary.query<{ time: string; ms: number }>(
      `select now::text as time, extract(epoch from now)::float8 * 1000 as ms from clock_timestamp() now`,
    );
    const { time, ms } = row!;
    await more();
    await stopLoad();
    await primary.query('select pg_switch_wal()');
    await loseServer(cluster, primary);
    await server.configure([
      ...['archive_mode = off', `restore_command = 'cp ${primary.folder}/archive-%f %p'`],
      ...[`recovery_target_time = '${time}'`, `recovery_target_action = 'promote'`],
    ]);
    await server.signalRecovery();
    await timed('recovery from the archive', () => server.start());
    cluster.replaceServer();
    return { keptUntil: ms, lostFrom: ms };
  },
};

/** The workers submit what is due, which the recovered books will not know, and then everything stops. */
async function loseServer({ members }: Cluster, primary: InstalledServer): Promise<void> {
  await Promise.all(members.map(({ process }) => process.stop()));
  await primary.stop();
}

/** Starts a streaming replica of the primary, and waits until it receives. */
async function startReplica({ primary, replacement, timed }: Recovery, isSynchronous: boolean): Promise<void> {
  const options = ['-D', replacement.dataDir, '-c', 'fast', '-R', '-C', '-S', 'recovered'];
  await timed('pg_basebackup', () => primary.runOn('pg_basebackup', ...options));
  await replacement.start({ isPrimary: false });
  if (isSynchronous) await primary.query(`alter system set synchronous_standby_names = '*'`);
  await primary.query('select pg_reload_conf()');
  const state = isSynchronous ? 'sync' : 'async';
  await waitFor(primary, `select from pg_stat_replication where state = 'streaming' and sync_state = '${state}'`);
}

/** @throws Error if the query returns no row in two minutes */
async function waitFor(server: Server, query: string): Promise<void> {
  const until = Date.now() + STALLED_MS;
  while ((await server.query(query)).length === 0) {
    if (Date.now() > until) throw new Error(`the state was not reached: ${query}`);
    await sleep(50);
  }
}

/** A streaming replica is promoted under load. */
function promoted(kind: 'replica' | 'failover', isSynchronous: boolean): Kind {
  const isFailover = kind === 'failover';
  return {
    name: `${kind}-${isSynchronous ? 'sync' : 'async'}`,
    // DATABASE_URL names both servers, so nothing is switched or restarted: the processes find the new primary themselves.
    installed: { hasTwoHosts: isFailover },
    // With an asynchronous replica the worker stops, as docs/postgresql.md describes.
    keepsWorker: isFailover && isSynchronous,
    advancesIds: isFailover && !isSynchronous,
    async recover(run) {
      const { cluster, primary, replacement, more, timed } = run;
      await startReplica(run, isSynchronous);
      await more();
      if (!isFailover) await cutStream(run, isSynchronous);
      if (!isFailover || !isSynchronous) await killWorkers(cluster);
      await timed('from the kill to a new order', async () => {
        await primary.stop('SIGQUIT');
        await replacement.promote();
        cluster.replaceServer();
        // The last responses of the old primary have arrived by now.
        await more(1);
      });
      await more();
      // What a synchronous replica confirmed is not lost.
      return { keptUntil: isSynchronous ? Infinity : 0, lostFrom: Infinity };
    },
  };
}

/** Stops the process that sends to the replica, as a network that is cut off. */
async function cutStream({ primary, more }: Recovery, isSynchronous: boolean): Promise<void> {
  const senders = await primary.query<{ pid: number }>('select pid from pg_stat_replication');
  for (const { pid } of senders) process.kill(pid, 'SIGSTOP');
  // Without a replica that confirms, a synchronous primary acknowledges nothing.
  const held = `select from pg_stat_activity where wait_event = 'SyncRep' and state_change < now() - interval '2 s'`;
  if (isSynchronous) await waitFor(primary, held);
  else await more(30);
}

export const RECOVERY_SCENARIOS: readonly Scenario[] = [
  ...[dump, pitr],
  ...(['replica', 'failover'] as const).flatMap((kind) => [promoted(kind, true), promoted(kind, false)]),
].map(recovery);
