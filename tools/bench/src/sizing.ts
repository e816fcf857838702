import { setTimeout as sleep } from 'node:timers/promises';
import { openDeployment } from '@banking/deployment';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { SCHEMA } from '@banking/postgres';
import { Client } from 'pg';
import { posting } from './orders.js';
import { makePayers } from './payers.js';
import { postmasterOf, processorTime, type ProcessorTime } from './processor-time.js';
import { startService, startWorker } from './service.js';
import { makeNetworkFaster, settleAll } from './settled.js';
import { inWorkshop } from './world.js';

export interface SizingOptions {
  readonly seconds: number;
  readonly connections: number;
  readonly accounts: number;
  readonly onProgress: (line: string) => void;
}

/** What one order takes in one phase. */
interface PhaseCost extends ProcessorTime {
  readonly walBytes: number;
}

/** What one order adds to a table, in bytes of the disk. */
interface TableGrowth {
  readonly name: string;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

/** What an order takes, from which docs/performance.md computes how many cells a load needs. */
export interface SizingResult {
  readonly orders: number;
  readonly placing: PhaseCost;
  readonly carryingOut: PhaseCost;
  readonly tables: readonly TableGrowth[];
  /** Of the service under this load, and of the worker. */
  readonly connections: { readonly service: number; readonly worker: number };
}

/** Longer than the first response takes on a busy machine. */
const WARM_UP_S = 3;
/** Longer than the orders of a run take to be carried out. */
const SETTLE_MAX_MS = 30 * 60_000;
const POLL_MS = 200;

/** Measures what an order takes when it is placed, and when a worker carries it out. Linux only. */
export function benchSizing(options: SizingOptions): Promise<SizingResult> {
  return inWorkshop(async ({ folder, runs }) => {
    const { accounts, seconds, onProgress } = options;
    const dataDir = folder('sizing');
    onProgress(`A database with ${accounts} accounts`);
    const payers = await makePayers(dataDir, { accounts, workspaces: 1 });
    await makeNetworkFaster(dataDir);
    const server = await attachEmbeddedServer({ dataDir });
    runs({ stop: () => server.detach() });
    const admin = new Client(server.connection);
    await admin.connect();
    runs({ stop: () => admin.end() });
    const deployment = await openDeployment({ dataDir, isSandbox: true, prepare: false, poolSize: 1 });
    runs({ stop: () => deployment.close() });
    const postmaster = await postmasterOf(deployment.database);

    const service = runs(await startService(dataDir));
    const place = posting(service, payers.accounts, options);
    await place(WARM_UP_S);
    await settleAll(dataDir);
    await deployment.refreshStatistics();
    // The first change of a page after a checkpoint writes the whole page to the log. Both phases begin without that.
    await admin.query('vacuum');

    const before = await sizesOf(admin);
    const last = await numberOf(admin, `select max(id) as number from ${SCHEMA}.transaction`);
    onProgress(`Placing orders for ${seconds} s`);
    const placing = await costOf(admin, service.pid, postmaster, () => place(seconds));
    const atService = await numberOf(admin, SESSIONS);
    onProgress('Carrying them out');
    const worker = runs(await startWorker(dataDir));
    const carryingOut = await costOf(admin, worker.pid, postmaster, () => untilSettled(admin, last));
    const atBoth = await numberOf(admin, SESSIONS);
    const orders = await numberOf(
      admin,
      `select count(*) as number from ${SCHEMA}.transaction where id > ${last} and status = 'completed'`,
    );
    const after = await sizesOf(admin);
    const each = ({ service: micros, database, walBytes }: PhaseCost): PhaseCost => ({
      service: micros / orders,
      database: database / orders,
      walBytes: walBytes / orders,
    });
    return {
      orders,
      placing: each(placing),
      carryingOut: each(carryingOut),
      tables: growthOf(before, after, orders),
      connections: { service: atService, worker: atBoth - atService },
    };
  });
}

async function costOf(admin: Client, pid: number, postmaster: number, work: () => Promise<unknown>) {
  const [timeBefore, walBefore] = [processorTime(pid, postmaster), await numberOf(admin, WAL)];
  await work();
  const [time, wal] = [processorTime(pid, postmaster), await numberOf(admin, WAL)];
  return {
    service: time.service - timeBefore.service,
    database: time.database - timeBefore.database,
    walBytes: wal - walBefore,
  };
}

/** @throws Error if an order is pending for too long */
async function untilSettled(admin: Client, last: number): Promise<void> {
  const pending = `select count(*) as number from ${SCHEMA}.transaction where id > ${last} and status = 'pending'`;
  for (const deadline = Date.now() + SETTLE_MAX_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    if ((await numberOf(admin, pending)) === 0) return;
  }
  throw new Error('some orders are still pending');
}

const WAL = `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as number`;
/** Of the service and the worker, without the two of this process, and those by which processes share the server. */
const SESSIONS = `select count(*) - 2 as number from pg_stat_activity
  where backend_type = 'client backend' and application_name <> 'embedded server'`;

async function numberOf(admin: Client, query: string): Promise<number> {
  const { rows } = await admin.query<{ number: string }>(query);
  return Number(rows[0]?.number);
}

/** The bytes of each table. Those of the simulated network are left out, because no live deployment has them. */
async function sizesOf(admin: Client): Promise<readonly TableGrowth[]> {
  const { rows } = await admin.query<{ name: string; table_bytes: string; index_bytes: string }>(
    `select relname as name, pg_table_size(c.oid) as table_bytes, pg_indexes_size(c.oid) as index_bytes
     from pg_class c where relnamespace = '${SCHEMA}'::regnamespace and relkind = 'r' and relname not like 'sandbox%'
     order by relname`,
  );
  return rows.map(({ name, table_bytes: table, index_bytes: index }) => ({
    ...{ name, tableBytes: Number(table), indexBytes: Number(index) },
  }));
}

/** The tables that have grown by at least a byte an order, the largest first. */
function growthOf(before: readonly TableGrowth[], after: readonly TableGrowth[], orders: number): TableGrowth[] {
  const sizes = new Map(before.map((table) => [table.name, table]));
  return after
    .map(({ name, tableBytes, indexBytes }) => ({
      name,
      tableBytes: (tableBytes - (sizes.get(name)?.tableBytes ?? 0)) / orders,
      indexBytes: (indexBytes - (sizes.get(name)?.indexBytes ?? 0)) / orders,
    }))
    .filter((table) => bytesOf(table) >= 1)
    .sort((one, other) => bytesOf(other) - bytesOf(one));
}

const bytesOf = ({ tableBytes, indexBytes }: TableGrowth) => tableBytes + indexBytes;

/** The result as text. */
export function reportSizing({ orders, placing, carryingOut, tables, connections }: SizingResult): string {
  const phase = (name: string, { service, database, walBytes }: PhaseCost) =>
    `  ${name.padEnd(14)} ${service.toFixed(0)} µs in Node, ${database.toFixed(0)} µs in PostgreSQL, ${walBytes.toFixed(0)} bytes of log`;
  const size = (name: string, table: number, index: number) =>
    `  ${name.padEnd(30)} ${table.toFixed(0).padStart(6)} ${index.toFixed(0).padStart(6)}`;
  const sum = (read: (table: TableGrowth) => number) => tables.reduce((total, table) => total + read(table), 0);
  return [
    `What an order takes, of ${orders} orders`,
    phase('placing', placing),
    phase('carrying out', carryingOut),
    `  connections    ${connections.service} of the service, ${connections.worker} of the worker`,
    'Bytes of an order: table, indexes',
    ...tables.map(({ name, tableBytes, indexBytes }) => size(name, tableBytes, indexBytes)),
    size(
      'all',
      sum(({ tableBytes }) => tableBytes),
      sum(({ indexBytes }) => indexBytes),
    ),
  ].join('\n');
}
