import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { readDemoIds } from '@banking/operations/demo';
import { openDeployment } from '@banking/deployment';
import type { Transfer } from '@banking/domain';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { bind, SCHEMA, sqlStatement, type Database } from '@banking/postgres';
import type { LoadRun } from './load.js';
import { posting } from './orders.js';
import { makePayers, type Payer } from './payers.js';
import { proveBooks } from './prove-books.js';
import { compareAll, type Effort, type Result, resultOf, warmUpOf } from './request.js';
import { type BenchTarget, startService, startWorker } from './service.js';
import { inWorkshop, withProcesses } from './world.js';

export interface SettledOptions extends Effort {
  readonly accounts: number;
}

/** A database with its payers. */
export interface SettlingGround {
  readonly dataDir: string;
  readonly payers: readonly Payer[];
  readonly connections: number;
}

const PER_SECOND_AIM = 600;
const SHARE_AIM = 0.5;
const SECOND_WORKER_AIM = 1.3;
const EVENTS = 3;
const POLL_MS = 100;
/** Longer than any backlog of a bench takes. */
const SETTLE_MAX_MS = 30 * 60_000;
const WORKSPACE = 1;

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

/** Measures the whole way of orders: placed over HTTP, and carried out with all events of the network. */
export function benchSettled(options: SettledOptions): Promise<Result> {
  return inWorkshop(async ({ folder }) => {
    const { accounts, connections, onProgress } = options;
    const groundIn = async (name: string): Promise<SettlingGround> => {
      onProgress(`A database with ${accounts} accounts`);
      const dataDir = folder(name);
      const payers = await makePayers(dataDir, { accounts, workspaces: 1 });
      await makeNetworkFaster(dataDir);
      return { dataDir, payers: payers.accounts, connections };
    };
    const [settled, accepted] = [await groundIn('settled'), await groundIn('accepted')];
    const comparisons = await compareAll(
      [
        {
          name: 'Orders placed and carried out in one process',
          control: 'orders accepted without a worker',
          perSecondAim: PER_SECOND_AIM,
          aim: SHARE_AIM,
          warmsUp: true,
          sides: { ours: settling(settled, 1), control: accepting(accepted) },
        },
        {
          name: 'Orders placed and carried out, two workers',
          control: 'one process, which is api and worker',
          aim: SECOND_WORKER_AIM,
          warmsUp: true,
          sides: { ours: settling(settled, 2), control: settling(settled, 1) },
        },
      ],
      options,
    );
    onProgress('Proving the books and the payments');
    for (const { dataDir } of [settled, accepted]) await proveBooks(dataDir);
    return resultOf(comparisons);
  });
}

/** Changes the simulated network of a database, which belongs to the bench: no code of the service. */
export async function makeNetworkFaster(dataDir: string): Promise<void> {
  const server = await attachEmbeddedServer({ dataDir });
  const client = new Client(server.connection);
  try {
    await client.connect();
    await client.query(FASTER_NETWORK);
  } finally {
    await client.end();
    await server.detach();
  }
}

/** Places orders for a number of seconds. Counts those that are completed, and the time until none is pending. */
function settling(ground: SettlingGround, workers: 1 | 2): LoadRun {
  return (seconds) =>
    withProcesses(async (runs) => {
      const service = runs(await startService(ground.dataDir, { settings: { WORKER: 'on' } }));
      if (workers === 2) runs(await startWorker(ground.dataDir));
      const { database, close } = await openForCounting(ground.dataDir);
      runs({ stop: close });
      const place = posting(service, ground.payers, ground);
      await place(warmUpOf(seconds));
      await untilSettled(database);
      const from = await lastTransaction(database);
      const began = performance.now();
      const placed = await place(seconds);
      await untilSettled(database, from);
      const tookS = (performance.now() - began) / 1_000;
      await requireEvents(service);
      return { ...placed, perSecond: (await settledSince(database, from)) / tookS };
    });
}

function accepting(ground: SettlingGround): LoadRun {
  return (seconds) =>
    withProcesses(async (runs) => {
      const place = posting(runs(await startService(ground.dataDir)), ground.payers, ground);
      await place(warmUpOf(seconds));
      return place(seconds);
    });
}

/** Carries out every pending order of the payers. */
export function settleAll(dataDir: string): Promise<void> {
  return withProcesses(async (runs) => {
    runs(await startWorker(dataDir));
    const { database, close } = await openForCounting(dataDir);
    runs({ stop: close });
    await untilSettled(database);
  });
}

const openForCounting = (dataDir: string) =>
  openDeployment({ dataDir, isSandbox: true, prepare: false, poolSize: 1, statementTimeoutMs: 60_000 });

interface Count {
  readonly count: bigint;
}

const LAST = sqlStatement<Count>(
  'bench_last_transaction',
  'select coalesce(max(id), 0) as count from transaction where workspace_id = $1',
);
/** One order after this transaction that is not carried out. The demo data has a payment that stays pending. */
const PENDING = sqlStatement(
  'bench_pending',
  `select 1 as pending from transaction
   where workspace_id = $1 and id > $2 and status = 'pending'
     and id <> (select transaction_id from transfer where workspace_id = $1 and id = $3)
   limit 1`,
);
const SETTLED = sqlStatement<Count & { readonly failed: bigint }>(
  'bench_settled',
  `select count(*) filter (where status = 'completed') as count, count(*) filter (where status = 'failed') as failed
   from transaction where workspace_id = $1 and id > $2`,
);

async function lastTransaction(database: Database): Promise<number> {
  const [[last]] = await database.pipeline({ workspaces: [WORKSPACE] }, [bind(LAST, WORKSPACE)] as const);
  return Number(last?.count);
}

/** @throws Error if an order is pending for too long */
async function untilSettled(database: Database, from = 0): Promise<void> {
  const staysPending = (await readDemoIds(database))?.transfers['pending'];
  const query = bind(PENDING, WORKSPACE, from, staysPending);
  for (const deadline = Date.now() + SETTLE_MAX_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    const [rows] = await database.pipeline({ workspaces: [WORKSPACE] }, [query] as const);
    if (rows.length === 0) return;
  }
  throw new Error('some orders are still pending');
}

/** @throws Error if an order failed, because the figure would be wrong */
async function settledSince(database: Database, from: number): Promise<number> {
  const [[row]] = await database.pipeline({ workspaces: [WORKSPACE] }, [bind(SETTLED, WORKSPACE, from)] as const);
  if (row?.failed !== 0n) throw new Error(`${row?.failed} orders failed`);
  return Number(row.count);
}

/** The newest transfers are those of orders. @throws Error unless each has all its events */
async function requireEvents({ url, headers }: BenchTarget): Promise<void> {
  const response = await fetch(`${url}/transfers?limit=20`, { headers });
  for (const { id, edges } of (await response.json()) as Transfer[]) {
    const events = edges.transaction?.edges.internationalRemittance?.edges.events ?? [];
    if (events.length < EVENTS) throw new Error(`transfer ${id} has ${events.length} events`);
  }
}
