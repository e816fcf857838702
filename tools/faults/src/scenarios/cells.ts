import { setTimeout as sleep } from 'node:timers/promises';
import { type CellName, type Cluster, FURTHER_CELLS } from '../cluster.js';
import type { Operation } from '../client-log.js';
import type { CutTime } from '../database-proxy.js';
import { call, type Endpoint, isUnavailable, parsedOf, type Received, sendOrder } from '../orders.js';
import { noteFault, type RunContext, type Scenario, type Violation, violationsOf } from '../scenario.js';
import { type LoadAccount, type LoadWorld, makeWorld, PAYOUT_AMOUNT, Preparation } from '../world.js';
import { expireLeases } from './payouts.js';
import { wait } from '../wait.js';

/** A workspace in one of the cells, with accounts and recipients of its own. */
interface PlacedWorkspace {
  readonly cell: CellName;
  readonly workspaceId: number;
  readonly payer: LoadAccount;
  /** Of another account of the workspace. */
  readonly recipientId: number;
  /** Of payouts in EUR. */
  readonly payoutRecipientId: number;
}

/** A user of the demo data with a role in the workspaces of all cells. */
const CALLER_OF_ALL = 'gateway@northwind.example';

/** Those of the demo data: at first, one in each cell. */
const PLACES = `
  select c.name as cell, p.workspace_id::float8 as "workspaceId"
  from workspace_place p join cell c on c.number = p.cell_number
  order by p.workspace_id`;

/**
 * The workspaces by their cells, the user who may act in all of them, and accounts of each workspace.
 *
 * @param pool accounts of each workspace that receive, and `owned` of those that only pay
 */
export async function cellsWorld(cluster: Cluster, pool: number, owned: number) {
  const places = await cluster.database.query<{ cell: CellName; workspaceId: number }>(PLACES);
  const endpoint: Endpoint = { ...cluster.endpoint, token: await cluster.newToken({ caller: CALLER_OF_ALL }) };
  const workspaces = places.map(({ workspaceId }) => workspaceId);
  const size = { pool: pool * places.length, owned: owned * places.length, currencies: ['EUR'], workspaces };
  const world = await makeWorld(endpoint, size);
  return { places, workspaces, endpoint, preparation: new Preparation(endpoint, workspaces[0]), world };
}

const OUTAGES = ['cell-unreachable', 'cell-killed', 'cell-frozen'] as const;
/** Rounds of requests while a database is away. */
const REQUESTS = 3;
/** On a machine that is busy. */
const SERVED_WITHIN_MS = 20_000;
const WAIT_MAX_MS = 120_000;

/** The database of each of these cells is away in turn, in each of the ways. */
function awayScenario(name: string, victims: readonly CellName[], minutesMax: number): Scenario {
  return {
    ...{ name, faults: OUTAGES, phase: 'alone', minutesMax, cluster: { hasCells: true } },
    async run(context) {
      const clients = await CellClients.prepare(context);
      for (let round = 0; !context.signal.aborted; round += 1) {
        await takeAway(context, clients, OUTAGES[round % OUTAGES.length]!, victims[round % victims.length]!);
      }
      return {};
    },
  };
}

/**
 * No connection to the database of a cell is accepted, the server is killed as well, or it stays connected and responds to nothing. The
 * workspaces of the other cells are served and paid out meanwhile, and its own get 503. When it is back, every process serves it again
 * without a restart. While home is away, the others are served from copies of the directory, and no account can be opened.
 */
async function takeAway(
  context: RunContext,
  clients: CellClients,
  outage: (typeof OUTAGES)[number],
  victim: CellName,
): Promise<void> {
  const { cluster, tally } = context;
  const own = clients.places.find(({ cell }) => cell === victim)!;
  const others = clients.places.filter((place) => place !== own);
  // Every process knows the places before.
  for (const place of clients.places) for (const api of [0, 1]) await clients.read(place, api, 'served');
  const server = cluster.of(victim);
  const proxies = cluster.members.map(({ links }) => links.get(victim)!);
  const thaw = outage === 'cell-frozen' ? server.freeze() : undefined;
  if (thaw === undefined) for (const proxy of proxies) proxy.refuse();
  if (outage === 'cell-killed') await server.endPostmaster('SIGKILL');
  try {
    const refused = async () => isUnavailable(await clients.read(own, 0)) && isUnavailable(await clients.read(own, 1));
    if (!(await until(refused))) tally.violate('outcome', `reads in ${victim} got no 503 while its database was away`);
    const paidOut = others.map((place) => clients.payOut(place));
    for (let count = 0; count < REQUESTS; count += 1) {
      const opened = others.map((place, api) => clients.open(place, api, victim === 'home' ? 'refused' : 'served'));
      const calls = [0, 1].flatMap((api) => [
        ...others.flatMap((place) => [clients.order(place, api, 'served'), clients.read(place, api, 'served')]),
        ...[clients.order(own, api, 'refused'), clients.read(own, api, 'refused')],
      ]);
      await Promise.all([...opened, ...calls]);
    }
    await Promise.all(paidOut);
  } finally {
    thaw?.();
    for (const proxy of proxies) proxy.accept();
  }
  const backAt = performance.now();
  const isServed = async () => hasServed(await clients.order(own, 0)) && hasServed(await clients.order(own, 1));
  const isBack = await until(isServed);
  const tookMs = Math.round(performance.now() - backAt);
  context.onProgress(`${outage} of ${victim}: served ${tookMs} ms after the return`);
  if (!isBack || tookMs > SERVED_WITHIN_MS) {
    tally.violate('response-time', `${victim} was served ${tookMs} ms after its database was back`);
  }
  await noteFault(context, outage, victim);
}

/** Polls. @returns whether the condition held in two minutes */
async function until(condition: () => Promise<boolean>): Promise<boolean> {
  const untilMs = performance.now() + WAIT_MAX_MS;
  while (performance.now() < untilMs) {
    if (await condition()) return true;
    await sleep(100);
  }
  return false;
}

const hasServed = ({ status }: Received): boolean => status !== undefined && status < 300;

/** A workspace whose database answers is served. One whose database is away is refused, with the time after which to retry. */
type Expected = 'served' | 'refused' | undefined;

/** Calls in the workspaces of all cells, with the log of the orders. */
class CellClients {
  private placed = 0;

  private constructor(
    private readonly context: RunContext,
    private readonly endpoint: Endpoint,
    readonly places: readonly PlacedWorkspace[],
    private readonly product: number,
  ) {}

  static async prepare(context: RunContext): Promise<CellClients> {
    const { places, endpoint, preparation, world } = await cellsWorld(context.cluster, 1, 1);
    const placed = places.map(({ cell, workspaceId }, index): PlacedWorkspace => {
      const recipientId = world.recipientFor(workspaceId, world.pool[index]!);
      const payoutRecipientId = world.payoutRecipient(workspaceId);
      return { cell, workspaceId, payer: world.owned[index]!, recipientId, payoutRecipientId };
    });
    return new CellClients(context, endpoint, placed, (await preparation.productOf('EUR'))!);
  }

  read({ cell, workspaceId, payer }: PlacedWorkspace, api: number, expected?: Expected): Promise<Received> {
    const path = `/accounts/${payer.id}`;
    const sent = call(this.endpoint, { api, method: 'GET', path, workspaceId });
    return this.judge(`a read in ${cell}`, sent, expected);
  }

  /** Opens an account, with a key of its own. */
  open({ cell, workspaceId }: PlacedWorkspace, api: number, expected: Expected): Promise<Received> {
    const key = `${this.context.prefix}-open-${(this.placed += 1)}`;
    const body = { productID: this.product };
    const sent = call(this.endpoint, { api, method: 'POST', path: '/accounts', workspaceId, key, body });
    return this.judge(`opening an account in ${cell}`, sent, expected);
  }

  order(place: PlacedWorkspace, api: number, expected?: Expected, isPayout = false): Promise<Received> {
    const { log, prefix, tally } = this.context;
    const { cell, workspaceId, payer, payoutRecipientId } = place;
    const recipientId = isPayout ? payoutRecipientId : place.recipientId;
    const amount = isPayout ? String(PAYOUT_AMOUNT) : '101';
    const key = `${prefix}-${(this.placed += 1)}`;
    const order = { key, workspaceId, accountId: payer.id, recipientId, amount, isPayout };
    const sent = new Promise<Received>((resolve) => {
      void sendOrder({ endpoint: { ...this.endpoint, onReceived: resolve }, log }, order, api).then(({ outcome }) => {
        tally.countOperation(outcome === 'ok');
        if (outcome === 'ok') tally.count('acknowledged');
      });
    });
    return this.judge(`an order in ${cell}`, sent, expected);
  }

  async payOut(place: PlacedWorkspace): Promise<void> {
    const { cell, workspaceId, payer } = place;
    const { body } = await this.order(place, 0, 'served', true);
    const path = `/accounts/${payer.id}/orders/${String(parsedOf(body)?.['id'])}`;
    const isCompleted = async () => {
      const received = await call(this.endpoint, { api: 0, method: 'GET', path, workspaceId });
      if (received.status !== 200) return false;
      const { edges } = JSON.parse(received.body) as { edges: { executions: { status: string }[] } };
      return edges.executions[0]?.status === 'completed';
    };
    if (!(await until(isCompleted)))
      this.context.tally.violate('payouts', `${path} of ${cell} was not completed in time`);
  }

  private async judge(what: string, sent: Promise<Received>, expected: Expected): Promise<Received> {
    const received = await sent;
    const { status, error, headers, body } = received;
    const isExpected = expected === undefined || (expected === 'served' ? hasServed : isUnavailable)(received);
    const got = `${status ?? error}, Retry-After ${headers?.['retry-after'] ?? 'missing'}: ${body.slice(0, 200)}`;
    if (!isExpected) this.context.tally.violate('outcome', `${what} was to be ${expected} and got ${got}`);
    return received;
  }
}

/** Where a payment between cells is interrupted: a statement of the worker, by the side of the payment whose database gets it. */
const POINTS = (['before', 'after'] as const satisfies readonly CutTime[]).flatMap(
  (when) =>
    [
      { kind: 'kill-worker-at-arrival', side: 'to', statement: 'post_arrivals', when },
      { kind: 'kill-worker-at-outcome', side: 'from', statement: 'settle_payments', when },
      { kind: 'kill-payee-cell', side: 'to', statement: 'post_arrivals', when },
    ] as const,
);

const STATEMENT_WAIT_MS = 20_000;
const PAUSE_MS = 50;
/** Of so many payments, one is to a closed account. */
const CLOSED_EACH = 3;

/**
 * Payments between all cells, while a worker or the server of the payee is killed before and after each write. Every payment arrives once,
 * or comes back once from an account that is closed.
 */
const crossingCrash: Scenario = {
  ...{ name: 'crossing-crash', faults: [...new Set(POINTS.map(({ kind }) => kind))], phase: 'other', minutesMax: 9 },
  cluster: { hasCells: true },
  async run(context) {
    const { cluster, log, prefix, signal, tally, random } = context;
    const { places, endpoint, preparation, world } = await cellsWorld(cluster, 2, 1);
    const [open, closed] = [world.pool.slice(0, places.length), world.pool.slice(places.length)];
    for (const account of closed) await preparation.disable(account);
    const pairs = places.flatMap((from) => places.filter((to) => to !== from).map((to) => ({ from, to })));
    // A worker that has found a difference stops payouts, and is not ready any more.
    const stopped = untilStopped(context).then((findings) => tally.violate('books', ...findings));
    let placed = 0;
    const pay = async ({ from, to }: (typeof pairs)[number]) => {
      placed += 1;
      const { workspaceId, id: accountId } = world.owned.find((one) => one.workspaceId === from.workspaceId)!;
      const payees = placed % CLOSED_EACH === 0 ? closed : open;
      const recipientId = world.recipientFor(
        workspaceId,
        payees.find((one) => one.workspaceId === to.workspaceId)!,
      );
      const amount = String(random.between(1, 500));
      const order = { workspaceId, accountId, recipientId, amount, isPayout: false };
      const { outcome } = await sendOrder({ endpoint, log }, { ...order, key: `${prefix}-${placed}` }, placed);
      tally.countOperation(outcome === 'ok');
      if (outcome === 'ok') tally.count('acknowledged');
    };
    for (let round = 0; !signal.aborted; round += 1) {
      // The payments of every point come from each cell to each other one.
      const pair = pairs[(round + Math.floor(round / POINTS.length)) % pairs.length]!;
      const interrupted = interrupt(context, POINTS[round % POINTS.length]!, pair, () => pay(pair));
      interrupted.catch(() => undefined);
      await Promise.race([interrupted, stopped]);
      // Only a stop ends the scenario before the interruption ends. What is started then has no final state.
      if (tally.violations.length > 0) throw new Error('payouts were stopped');
    }
    await stopped;
    // The claims of killed workers. The last server that was killed may still start.
    for (const server of cluster.databases) {
      await until(() => server.query('select').then(Boolean, () => false));
      await expireLeases(server);
    }
    return { check: (operations, booked) => checkCrossings(context, operations, booked, world, closed) };
  },
};

const STOPS = `select f->>'check' || ': ' || (f->>'detail') as finding from payout_stop, jsonb_array_elements(findings) f`;

/** Waits until the verification of a worker has stopped payouts, or until the signal. @returns its findings */
async function untilStopped({ cluster, signal }: RunContext): Promise<string[]> {
  while (!signal.aborted) {
    for (const server of cluster.databases) {
      // A server that was killed is asked again.
      const found = await server.query<{ finding: string }>(STOPS).catch(() => []);
      if (found.length > 0) return found.map(({ finding }) => finding);
    }
    await wait(500, signal);
  }
  return [];
}

/** Pays until a worker sends the statement, and kills the process or the server then. A worker that sends none in time is left alone. */
async function interrupt(
  context: RunContext,
  { kind, side, statement, when }: (typeof POINTS)[number],
  pair: Readonly<Record<'from' | 'to', { readonly cell: CellName }>>,
  pay: () => Promise<void>,
): Promise<void> {
  const { cluster, random } = context;
  const { process, links } = random.pick(cluster.workers);
  let isOver = false;
  const wait = AbortSignal.timeout(STATEMENT_WAIT_MS);
  const withheld = links
    .get(pair[side].cell)!
    .withhold(statement, wait, when)
    .finally(() => (isOver = true));
  while (!isOver) {
    await pay();
    await sleep(PAUSE_MS);
  }
  const release = await withheld;
  if (release === undefined) return;
  const isServer = kind === 'kill-payee-cell';
  if (isServer) await cluster.of(pair.to.cell).endPostmaster('SIGKILL');
  else await process.kill();
  release();
  if (!isServer) await process.start();
  await noteFault(context, kind, `${process.name}, ${when} ${statement}`);
}

const RETURNED = 'Returned: ';
/** Money that came to a customer account with the key of an order, as a payment or as its return. */
const CREDITS = `
  select regexp_replace(description, '^${RETURNED}', '') as key, account_id::float8 as "accountId", amount::text as amount,
         description like '${RETURNED}%' as "isReturn"
  from transfer
  where direction = 'credit' and (description like $1 or description like '${RETURNED}' || $1)`;

interface KeyedCredit {
  readonly key: string;
  readonly accountId: number;
  readonly amount: string;
  readonly isReturn: boolean;
}

/**
 * Each payment to another workspace has arrived exactly once, or has come back exactly once from a closed account.
 *
 * @param closed accounts that take no payments
 */
export async function checkCrossings(
  { cluster, prefix }: RunContext,
  operations: readonly Operation[],
  booked: ReadonlySet<string>,
  world: LoadWorld,
  closed: readonly LoadAccount[] = [],
): Promise<Violation[]> {
  const credits = new Map<string, KeyedCredit[]>();
  for (const server of cluster.databases) {
    for (const credit of await server.query<KeyedCredit>(CREDITS, [`${prefix}-%`])) {
      credits.set(credit.key, [...(credits.get(credit.key) ?? []), credit]);
    }
  }
  const faults = operations.flatMap((operation) => {
    const { key, accountId, amount } = operation;
    const payee = world.pool.find((one) => world.recipientFor(operation.workspaceId, one) === operation.recipientId);
    if (payee === undefined || payee.workspaceId === operation.workspaceId) return [];
    const isClosed = closed.includes(payee);
    const own = credits.get(key) ?? [];
    const expected = { accountId: isClosed ? accountId : payee.id, amount, isReturn: isClosed };
    const isRight = ([credit, ...others]: readonly KeyedCredit[]) =>
      others.length === 0 &&
      credit?.accountId === expected.accountId &&
      credit.amount === amount &&
      credit.isReturn === expected.isReturn;
    if (booked.has(key) ? isRight(own) : own.length === 0) return [];
    return [`${key} has the credits ${JSON.stringify(own)} instead of ${JSON.stringify(expected)}`];
  });
  return violationsOf('crossings', faults);
}

export const CELL_SCENARIOS: readonly Scenario[] = [
  awayScenario('cell-away', FURTHER_CELLS, 2),
  awayScenario('home-away', ['home'], 1),
  crossingCrash,
];
