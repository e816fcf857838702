import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type autocannon from 'autocannon';
import type { Transfer } from '@banking/domain';
import { SCHEMA } from '@banking/postgres';
import { analyzeTables } from '@banking/postgres/testing';
import { Client } from 'pg';
import { compareAll, type Effort, type Figure, warmUpOf } from './compare.js';
import { httpLoad, type LoadRun } from './load.js';
import { makeMinimalLedger, transferring } from './minimal-ledger.js';
import { type BenchTarget, postmasterOf, startService } from './service.js';
import { inWorkshop, makePayers, onServer, type Payer, type Payers, proveBooks, withProcesses } from './world.js';

export interface OrdersOptions extends Effort {
  /** How many accounts the orders are spread over, and in the second case over how many workspaces. */
  readonly accounts: number;
  readonly workspaces: number;
  readonly cases: readonly Case[];
  /** A built checkout of another version, to compare the CPU time with. */
  readonly against?: string | undefined;
}

/** By case, the least ratio that we aim at. */
const AIMS = { accounts: 0.28, workspaces: 0.28, hot: 1.3 } as const;
export const CASES = ['accounts', 'workspaces', 'hot'] as const;
type Case = keyof Payers & (typeof CASES)[number];

/** Of the CPU time of an order in a workspace without limits and rules. */
const BOUNDED_AIM = 1.1;

/** Of the CPU time of another version. */
const AGAINST_AIM = 0.55;

/** Of the control. */
const CONTROL_CONNECTIONS = 16;

/** Places orders over HTTP. */
export function benchOrders(options: OrdersOptions): Promise<Figure[]> {
  const { accounts, workspaces, cases, connections, against, onProgress } = options;
  return inWorkshop(async (folder, runs) => {
    const dataDir = folder('orders');
    onProgress(`A database with ${accounts} accounts in one workspace, and as many in ${workspaces}`);
    const payers = await makePayers(dataDir, accounts, workspaces);
    const service = runs(await startService(dataDir));
    const figures = await onServer(dataDir, async (connection) => {
      await makeMinimalLedger(connection, accounts);
      // No table is empty when it is analyzed.
      await placing(service, payers.accounts, connections)(warmUpOf(options.seconds));
      await analyzeTables(connection, SCHEMA);
      const where = { accounts: `over ${accounts} accounts`, workspaces: `over ${workspaces} workspaces` };
      const comparisons = cases.map((name) => ({
        name: `Orders ${name === 'hot' ? 'on one account' : where[name]}`,
        control: `a minimal function per transfer, ${CONTROL_CONNECTIONS} connections`,
        aim: AIMS[name],
        ours: placing(service, payers[name], connections),
        theirs: transferring(
          connection,
          CONTROL_CONNECTIONS,
          accounts,
          Math.min(accounts, payers[name].length),
          postmasterOf(dataDir),
        ),
      }));
      const bounded = {
        name: `Orders ${where.accounts}, under limits and rules`,
        ...{ control: 'a workspace without them', of: 'cpu' as const, aim: BOUNDED_AIM },
        ours: placing(service, payers.bounded, connections),
        theirs: placing(service, payers.accounts, connections),
      };
      const figures = await compareAll([...comparisons, ...(cases.includes('accounts') ? [bounded] : [])], options);
      if (against === undefined) return figures;
      const before = await startVersion(against, folder('before'), options);
      runs(before.service);
      const versions = cases.map((name) => ({
        name: `Orders ${name === 'hot' ? 'on one account' : where[name]}`,
        ...{ control: 'the version before', of: 'cpu' as const, aim: AGAINST_AIM },
        ours: placing(service, payers[name], connections),
        theirs: placing(before.service, before.payers[name], connections),
      }));
      return [...figures, ...(await compareAll(versions, options))];
    });
    await service.stop();
    onProgress('Proving the books and the payments');
    await proveBooks(dataDir);
    return figures;
  });
}

/** Another version on a database that it has made itself. */
async function startVersion(
  root: string,
  dataDir: string,
  { accounts, workspaces, seconds, connections, onProgress }: OrdersOptions,
): Promise<{ readonly service: BenchTarget; readonly payers: Payers }> {
  onProgress(`The same database of the version in ${root}`);
  const world = JSON.stringify(join(root, 'tools/bench/dist/world.js'));
  const make = `require(${world}).makePayers(...${JSON.stringify([dataDir, accounts, workspaces])})`;
  const print = `${make}.then((payers) => require('node:fs').writeSync(3, JSON.stringify(payers)))`;
  const made = spawnSync(process.execPath, ['-e', print], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    maxBuffer: 2 ** 28,
  });
  if (made.status !== 0) throw new Error(`the version in ${root} has made no accounts; its output stands above`);
  const payers = JSON.parse(String(made.output[3])) as Payers;
  const service = await startService(dataDir, { root });
  await placing(service, payers.accounts, connections)(warmUpOf(seconds));
  await onServer(dataDir, (connection) => analyzeTables(connection, SCHEMA));
  return { service, payers };
}

/** Orders of any of the payers, each with a key of its own. */
function placing({ headers, ...target }: BenchTarget, payers: readonly Payer[], connections: number): LoadRun {
  const request: autocannon.Request = {
    method: 'POST',
    setupRequest(sent) {
      const { accountId, workspaceId, recipientID } = payers[Math.floor(Math.random() * payers.length)]!;
      const order = { amount: '5000', recipientID, type: 'instant', purposeCode: 'IR001', description: 'Invoice 4711' };
      const own = { 'Content-Type': 'application/json', 'Workspace-ID': String(workspaceId) };
      return {
        ...{ ...sent, path: `/accounts/${accountId}/orders`, body: JSON.stringify(order) },
        headers: { ...headers, ...own, 'Idempotency-Key': randomUUID() },
      };
    },
  };
  return httpLoad({ ...target, headers }, connections, [request]);
}

/** A database with its payers. */
interface Ground {
  readonly dataDir: string;
  readonly payers: readonly Payer[];
  readonly connections: number;
}

const POLL_MS = 100;
/** Longer than any backlog of a bench takes. */
const SETTLE_MAX_MS = 30 * 60_000;
const EVENTS = 3;

/**
 * The simulated network reports its last event after six seconds. Ten times as fast, its delays do not limit the figure of a short run.
 * All events still arrive later than the response to the submission.
 */
const FASTER_NETWORK = `
  create function ${SCHEMA}.bench_network() returns trigger language plpgsql as $$
  begin
    new.due_at := statement_timestamp() + (new.due_at - statement_timestamp()) / 10;
    return new;
  end $$;
  grant execute on function ${SCHEMA}.bench_network to public;
  create trigger bench_network before insert on ${SCHEMA}.sandbox_rail_event
    for each row execute function ${SCHEMA}.bench_network();`;

/** The whole way of orders: placed over HTTP, and carried out with all events of the network. */
export function benchSettled(options: Effort & { readonly accounts: number }): Promise<Figure[]> {
  const { accounts, connections, onProgress } = options;
  return inWorkshop(async (folder) => {
    const groundIn = async (name: string): Promise<Ground> => {
      onProgress(`A database with ${accounts} accounts`);
      const dataDir = folder(name);
      const { accounts: payers } = await makePayers(dataDir, accounts, 1);
      await query(dataDir, FASTER_NETWORK);
      return { dataDir, payers, connections };
    };
    const [settled, accepted] = [await groundIn('settled'), await groundIn('accepted')];
    const one = { control: 'orders accepted without a worker', aim: 0.5, theirs: accepting(accepted) };
    const two = { control: 'one process, which is api and worker', theirs: settling(settled, 1) };
    const figures = await compareAll(
      [
        { ...one, name: 'Orders placed and carried out in one process', warmsUp: true, ours: settling(settled, 1) },
        { ...two, name: 'Orders placed and carried out, two workers', warmsUp: true, ours: settling(settled, 2) },
      ],
      options,
    );
    onProgress('Proving the books and the payments');
    for (const { dataDir } of [settled, accepted]) await proveBooks(dataDir);
    return figures;
  });
}

/** Places orders for a number of seconds. Counts those that are completed, and the time until none is pending. */
function settling({ dataDir, payers, connections }: Ground, workers: 1 | 2): LoadRun {
  return (seconds) =>
    withProcesses(async (runs) => {
      const service = runs(await startService(dataDir, { settings: { WORKER: 'on' } }));
      if (workers === 2) runs(await startService(dataDir, { app: 'worker' }));
      const place = placing(service, payers, connections);
      await place(warmUpOf(seconds));
      await settledSince(dataDir, 0);
      const [last] = await query<{ id: string }>(dataDir, `select max(id)::text as id from ${SCHEMA}.transaction`);
      const began = performance.now();
      const placed = await place(seconds);
      const settled = await settledSince(dataDir, Number(last?.id));
      const tookS = (performance.now() - began) / 1_000;
      await requireEvents(service);
      return { ...placed, perSecond: settled / tookS };
    });
}

function accepting({ dataDir, payers, connections }: Ground): LoadRun {
  return (seconds) =>
    withProcesses(async (runs) => {
      const place = placing(runs(await startService(dataDir)), payers, connections);
      await place(warmUpOf(seconds));
      return place(seconds);
    });
}

/** Transactions since one, by status. The demo data has a payment that stays pending, which none of the payers made. */
const STATUSES = `
  select count(*) filter (where status = 'completed')::int as completed, count(*) filter (where status = 'failed')::int as failed,
         count(*) filter (where status = 'pending')::int as pending
  from ${SCHEMA}.transaction x
  where id > $1 and exists (select from ${SCHEMA}.transfer t where (t.workspace_id, t.transaction_id) = (x.workspace_id, x.id)
    and t.description = 'Invoice 4711')`;

/** Waits until no order after a transaction is pending. @returns how many are completed. @throws Error if one failed */
async function settledSince(dataDir: string, transaction: number): Promise<number> {
  for (const deadline = Date.now() + SETTLE_MAX_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    const [row] = await query<{ completed: number; failed: number; pending: number }>(dataDir, STATUSES, [transaction]);
    if (row!.failed > 0) throw new Error(`${row!.failed} orders failed`);
    if (row!.pending === 0) return row!.completed;
  }
  throw new Error('some orders are still pending');
}

function query<Row extends object>(dataDir: string, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return onServer(dataDir, async (connection) => {
    const client = new Client(connection);
    await client.connect();
    try {
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  });
}

/** The newest transfers are those of orders. @throws Error unless each has all its events */
async function requireEvents({ url, headers }: BenchTarget): Promise<void> {
  const response = await fetch(`${url}/transfers?limit=20`, { headers });
  for (const { id, edges } of (await response.json()) as Transfer[]) {
    const events = edges.transaction?.edges.internationalRemittance?.edges.events ?? [];
    if (events.length < EVENTS) throw new Error(`transfer ${id} has ${events.length} events`);
  }
}
