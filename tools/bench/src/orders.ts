import { randomUUID } from 'node:crypto';
import type autocannon from 'autocannon';
import type { Books } from '@banking/ledger';
import { DEMO_RATES } from '@banking/rates';
import { openReading, OrderService, type OrderSubmitter, postOrders } from '@banking/operations';
import { openDeployment } from '@banking/deployment';
import { bind, type ConnectionOptions, SCHEMA, sqlStatement, type Database } from '@banking/postgres';
import { analyzeTables } from '@banking/postgres/testing';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { httpLoad, callConcurrently, type LoadRun } from './load.js';
import { makeMinimalLedger, transferring } from './minimal-ledger.js';
import { anyOf, makePayers, orderOf, place, type Payer, type Payers } from './payers.js';
import { proveBooks } from './prove-books.js';
import { compareAll, counted, type Effort, type ComparisonPlan, type Result, resultOf } from './request.js';
import { type BenchTarget, startService } from './service.js';
import { inWorkshop } from './world.js';

export interface OrdersOptions extends Effort {
  /** How many accounts the orders are spread over, and in the second case over how many workspaces. */
  readonly accounts: number;
  readonly workspaces: number;
  /** Who ask at once within this process. */
  readonly callers: number;
  readonly cases: readonly Case[];
}

export const CASES = ['accounts', 'workspaces', 'hot'] as const;
type Case = keyof Payers & (typeof CASES)[number];

/** Of either control. */
const CONTROL_CONNECTIONS = 16;
const P99_AIM_MS = 30;
const LONE_AIM = 1.15;

const AIMS = {
  accounts: { oneByOne: 4, minimal: 0.45, minimalOverHttp: 0.28 },
  workspaces: { oneByOne: 4, minimal: 0.45, minimalOverHttp: 0.28 },
  hot: { oneByOne: 10, minimal: 2.2, minimalOverHttp: 1.3 },
} as const;

/** What is measured on. */
interface Ground {
  readonly dataDir: string;
  readonly connection: ConnectionOptions;
  readonly payers: Payers;
}

/** Measures the placing of orders. */
export function benchOrders(options: OrdersOptions): Promise<Result> {
  return inWorkshop(async ({ folder, runs }) => {
    const { onProgress, ...size } = options;
    const dataDir = folder('orders');
    onProgress(`A database with ${size.accounts} accounts in one workspace, and as many in ${size.workspaces}`);
    const payers = await makePayers(dataDir, size);
    const server = await attachEmbeddedServer({ dataDir });
    runs({ stop: () => server.detach() });
    const { connection } = server;
    await makeMinimalLedger(connection, size.accounts);
    await analyzeTables(connection, SCHEMA);

    const ground = { dataDir, connection, payers };
    const comparisons = await compareInProcess(ground, options);
    const service = runs(await startService(dataDir));
    comparisons.push(...(await compareAll(questionsOverHttp(ground, service, options), options)));
    await service.stop();
    onProgress('Proving the books and the payments');
    await proveBooks(dataDir);
    return resultOf(comparisons);
  });
}

async function compareInProcess(ground: Ground, options: OrdersOptions) {
  const opening = { dataDir: ground.dataDir, isSandbox: true, prepare: false };
  const ours = await openDeployment(opening);
  const theirs = await openDeployment({ ...opening, poolSize: CONTROL_CONNECTIONS }).catch(async (error: unknown) => {
    await ours.close();
    throw error;
  });
  try {
    await requireFsync(ours.database);
    return await compareAll(questionsInProcess(ground, ours.books, theirs.books, options), options);
  } finally {
    await theirs.close();
    await ours.close();
  }
}

function questionsInProcess(ground: Ground, ours: Books, theirs: Books, options: OrdersOptions): ComparisonPlan[] {
  const service = new OrderService(ours, DEMO_RATES, { hasPayoutNetwork: true });
  const { payers } = ground;
  const together = (of: readonly Payer[], callers: number): LoadRun => {
    return (seconds) => callConcurrently(callers, seconds, () => place(service, anyOf(of)));
  };
  // A lone order is compared on connections of the same pool.
  const lone: ComparisonPlan = {
    name: 'A lone order, in process',
    control: 'the same statements without the queue',
    compares: 'p50Ms',
    aim: LONE_AIM,
    sides: { ours: together(payers.accounts, 1), control: oneByOne(ours, payers.accounts, 1) },
  };
  const crowds = options.cases.flatMap((name): ComparisonPlan[] => {
    const asked = { name: `${whereOf(name, options)}, in process` };
    const crowd = together(payers[name], options.callers);
    return [
      {
        ...asked,
        control: `the same rows one order at a time, ${CONTROL_CONNECTIONS} connections`,
        aim: AIMS[name].oneByOne,
        // The control is our own code, and its ratio would need a scale of its own.
        isCharted: false,
        sides: { ours: crowd, control: oneByOne(theirs, payers[name], CONTROL_CONNECTIONS) },
      },
      {
        ...asked,
        ...MINIMAL,
        aim: AIMS[name].minimal,
        sides: { ours: crowd, control: minimal(name, ground, options) },
      },
    ];
  });
  return [lone, ...crowds];
}

function questionsOverHttp(ground: Ground, service: BenchTarget, options: OrdersOptions): ComparisonPlan[] {
  return options.cases.map((name) => ({
    name: `${whereOf(name, options)}, over HTTP`,
    ...MINIMAL,
    aim: AIMS[name].minimalOverHttp,
    p99AimMs: P99_AIM_MS,
    sides: { ours: posting(service, ground.payers[name], options), control: minimal(name, ground, options) },
  }));
}

const MINIMAL = { control: `a minimal function per transfer, ${CONTROL_CONNECTIONS} connections` };

function whereOf(name: Case, { accounts, workspaces }: OrdersOptions): string {
  const where = {
    accounts: `over ${counted(accounts)} accounts`,
    workspaces: `over ${workspaces} workspaces`,
    hot: 'on one account',
  };
  return `Orders ${where[name]}`;
}

/** Everything an order takes, by itself: an order service for each caller, so that its facts too are read for it alone. */
function oneByOne(books: Books, payers: readonly Payer[], callers: number): LoadRun {
  const { reference } = openReading(books.database);
  const batcher: OrderSubmitter = {
    async submit(order) {
      const [outcome] = await postOrders({ books, reference }, [order], true);
      if (!outcome) throw new Error('an order without an outcome');
      return outcome;
    },
  };
  const services = Array.from({ length: callers }, () => new OrderService(books, DEMO_RATES, { batcher }));
  return (seconds) => callConcurrently(callers, seconds, (caller) => place(services[caller]!, anyOf(payers)));
}

function minimal(name: Case, { connection, payers }: Ground, { accounts }: OrdersOptions): LoadRun {
  return transferring(connection, CONTROL_CONNECTIONS, accounts, Math.min(accounts, payers[name].length));
}

/** Orders of any of the payers, and nothing else. */
export function posting(
  answering: BenchTarget,
  payers: readonly Payer[],
  { connections }: { readonly connections: number },
): LoadRun {
  return httpLoad({ answering, connections, expects: 200, requests: [orderRequest(answering, payers)] });
}

/** Each request is another payer's, with a key of its own. */
export function orderRequest(answering: BenchTarget, payers: readonly Payer[]): autocannon.Request {
  const headers = { ...answering.headers, 'Content-Type': 'application/json' };
  const orders = payers.map((payer) => ({
    path: `/accounts/${payer.accountId}/orders`,
    body: JSON.stringify(orderOf(payer)),
    workspace: String(payer.workspaceId),
  }));
  return {
    method: 'POST',
    setupRequest(request) {
      const { workspace, ...order } = anyOf(orders);
      return {
        ...request,
        ...order,
        headers: { ...headers, 'Workspace-ID': workspace, 'Idempotency-Key': randomUUID() },
      };
    },
  };
}

const DURABILITY = sqlStatement<{ fsync: string; commit: string }>(
  'bench_durability',
  `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`,
);

/** Figures of a database that may lose commits are not comparable. */
async function requireFsync(database: Database): Promise<void> {
  const settings = await database.read({}, bind(DURABILITY));
  if (settings?.fsync !== 'on' || settings.commit !== 'on') {
    throw new Error(`fsync is ${settings?.fsync}, synchronous_commit ${settings?.commit}; both must be on`);
  }
}
