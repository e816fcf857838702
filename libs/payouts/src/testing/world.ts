import { minorUnits, parseAmount, type Timestamp } from '@banking/domain';
import {
  type Books,
  type Conversion,
  decide,
  type Leg,
  lockAndRead,
  openAccount,
  openBooks,
  post,
  postDeposits,
  postPayments,
  preparePosting,
  requirePosted,
  verifyBooks,
} from '@banking/ledger';
import type { BoundStatement, Database, DbTransaction } from '@banking/postgres';
import { freshDatabase, type FreshDatabase, keepRows } from '@banking/postgres/testing';
import { Worker, type WorkerOptions } from '@banking/work-queue';
import { PAYOUT, payoutKey } from '../open-payouts.js';
import type { OpenRails, PaymentReader, Rail } from '../rail.js';
import { receiveRailEvents } from '../receive-rail-events.js';
import { type ReconcileOptions, reconcilePayouts } from '../reconcile-payouts.js';
import { SANDBOX_RAIL, SandboxRail } from '../sandbox-rail.js';
import { payoutHandler, type PayoutOptions } from '../submit-payout.js';

/** Two separate workspaces. */
export const NORTH = 1;

export const SOUTH = 2;

export const AMOUNT = parseAmount('100.00', 'USD');

export const FEE = parseAmount('4.00', 'USD');

const RUPEES = parseAmount('8300.00', 'INR');

/** Books for payouts: an account with a million dollars in each workspace. */
export interface World extends FreshDatabase {
  readonly books: Books;
  /** By workspace. */
  readonly accounts: Readonly<Record<number, number>>;
}

export async function openWorld(): Promise<World> {
  const fresh = await freshDatabase();
  await fresh.owner.query(`
    insert into app (id, name) values (1, 'Harbour');
    insert into workspace (id, app_id, name) values (${NORTH}, 1, 'North'), (${SOUTH}, 1, 'South');
    insert into currency (id, code, name, decimals) values (840, 'USD', 'US Dollar', 2), (356, 'INR', 'Indian Rupee', 2);
    insert into product (id, name, currency_id) values (1, 'Current account', 840)`);
  const books = openBooks(fresh.database);
  const accounts: Record<number, number> = {};
  for (const workspaceId of [NORTH, SOUTH]) accounts[workspaceId] = await fundedAccount(books, workspaceId);
  return { ...fresh, books, accounts };
}

/** @returns what puts all rows of the world back. Its books are new ones, because those of before know accounts that are gone. */
export async function keepWorld(world: World): Promise<() => Promise<World>> {
  const restore = await keepRows(world.owner);
  return async () => {
    await restore();
    return { ...world, books: openBooks(world.database) };
  };
}

async function fundedAccount(books: Books, workspaceId: number): Promise<number> {
  const id = 1_000 + workspaceId;
  const account = { workspaceId, id, productId: 1, currencyId: 840, name: 'Ada', type: 'CACC', code: `A${id}` };
  await books.database.pipeline({ workspaces: [workspaceId] }, [openAccount(account)]);
  await fund(books, workspaceId, parseAmount('1000000.00', 'USD'));
  return id;
}

/** Credits the account of a workspace from outside: minor units, and below zero a payout. */
export async function fund(books: Books, workspaceId: number, amount: bigint): Promise<void> {
  const type = amount < 0n ? 'payout' : 'funding';
  const leg = { currencyId: 840, amount: minorUnits(amount < 0n ? -amount : amount), type };
  const legs: Leg[] = [
    { ...leg, account: 1_000 + workspaceId, direction: amount < 0n ? 'debit' : 'credit' },
    { ...leg, account: 'settlement', direction: amount < 0n ? 'credit' : 'debit' },
  ];
  const write = amount < 0n ? postPayments : postDeposits;
  const status = amount < 0n ? 'pending' : 'completed';
  const [outcome] = await post(
    books,
    [{ entries: [{ workspaceId, status, legs, rail: amount < 0n ? SANDBOX_RAIL : undefined }] }],
    write,
  );
  requirePosted(outcome!);
}

/** The legs of a payout of a hundred dollars, in dollars or converted to rupees. */
const WAYS: Readonly<Record<'payout' | 'spot', readonly Leg[]>> = {
  payout: [{ account: 'settlement', currencyId: 840, direction: 'credit', amount: AMOUNT, type: 'payout' }],
  spot: [
    { account: 'fx', currencyId: 840, direction: 'credit', amount: AMOUNT, type: 'spot' },
    { account: 'fx', currencyId: 356, direction: 'debit', amount: RUPEES, type: 'spot' },
    { account: 'settlement', currencyId: 356, direction: 'credit', amount: RUPEES, type: 'spot' },
  ],
};

/** How `spot` converts. */
const CONVERSION: Conversion = {
  ...{ digest: 'c'.repeat(64), currencyId: 840, amount: `${AMOUNT}`, targetCurrencyId: 356, targetAmount: `${RUPEES}` },
  ...{
    rate: '83',
    rateSource: 'spec',
    rateAsOf: '2026-01-01T00:00:00Z' as Timestamp,
    rounding: 'down',
    fixedSide: 'source',
  },
  ...{ remainderNumerator: '0', remainderDenominator: '1' },
};

/** Posts pending payouts of a hundred dollars with their fees, in one batch. */
export async function payOut(
  world: World,
  {
    workspaceId = NORTH,
    count = 1,
    by = 'payout' as keyof typeof WAYS,
    isSubmitted = false,
    leasedMax = 0,
    rail = SANDBOX_RAIL,
  } = {},
): Promise<number[]> {
  const account = world.accounts[workspaceId]!;
  const legs: Leg[] = [
    { account, currencyId: 840, direction: 'debit', amount: AMOUNT, type: by, description: 'Invoice', feeAmount: FEE },
    ...WAYS[by],
    { account, currencyId: 840, direction: 'debit', amount: FEE, type: 'fee' },
    { account: 'fees', currencyId: 840, direction: 'credit', amount: FEE, type: 'fee' },
  ];
  const conversion = by === 'spot' ? CONVERSION : undefined;
  const entry = { workspaceId, status: 'pending', legs, isSubmitted, conversion, rail } as const;
  const proposals = Array.from({ length: count }, () => ({ entries: [entry] }));
  const posting = await preparePosting(world.books, proposals);
  return world.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const { context } = await lockAndRead(tx, posting);
    const posted = proposals.flatMap((proposal) => requirePosted(decide(context, proposal)));
    const ids = posted.map(({ id }) => id);
    await tx.commit(postPayments(posted, new Map([[rail, leasedMax]])));
    return ids;
  });
}

/** The key of a payout at the network. */
export async function keyOf(world: World, transactionId: number): Promise<string> {
  const { rows } = await world.owner.query<{ workspace_id: string; key_nonce: string }>(
    'select workspace_id::text, key_nonce from payout where transaction_id = $1',
    [transactionId],
  );
  const [{ workspace_id, key_nonce }] = rows as [(typeof rows)[number]];
  return payoutKey({ workspaceId: Number(workspace_id), transactionId, nonce: key_nonce });
}

/** The findings of a verification, of which no test may leave any. */
export async function faults(world: World): Promise<unknown> {
  return (await verifyBooks(world.database, [NORTH, SOUTH])).findings;
}

/** Moves the due times and leases of the queue into the past. */
export async function passTimeHere(world: World, ms: number): Promise<void> {
  await world.owner.query(
    `update work set due_at = due_at - interval '${ms} ms', leased_until = leased_until - interval '${ms} ms'`,
  );
}

/** Moves the times of the queue and of the events of the network into the past. */
export async function passTime(world: World, ms: number): Promise<void> {
  await passTimeHere(world, ms);
  await world.owner.query(`
    update sandbox_rail_event set due_at = due_at - interval '${ms} ms', handed_until = handed_until - interval '${ms} ms'`);
}

/** The creditor's account of every payment without an account in `to`. */
const ACCOUNT = '50100123456789';

/** The options that a spec changes. */
interface WorkerChanges extends Partial<Omit<PayoutOptions, 'rails'>>, Pick<WorkerOptions, 'concurrency' | 'onError'> {
  /** The network of all payouts. Default: that of the sandbox. */
  readonly rail?: Rail;
  /** More networks, which the chore does not receive from. */
  readonly others?: OpenRails;
  /** Account numbers by transaction. */
  readonly to?: Readonly<Record<number, string>>;
}

/** A worker that submits payouts to the sandbox network. It runs when the spec calls `step`. */
export function payoutWorker(world: World, changes: WorkerChanges = {}): Worker {
  const { to = {}, concurrency, onError, others = [], rail = new SandboxRail(world.database), ...given } = changes;
  const readPayment: PaymentReader = async (_workspaceId, transactionId) => ({
    amount: AMOUNT,
    currency: 'USD',
    creditor: { name: 'Ravi Menon', account: to[transactionId] ?? ACCOUNT },
  });
  const rails = new Map([[SANDBOX_RAIL, rail], ...others]);
  const options = { books: world.books, rails, readPayment, ...given };
  return new Worker({
    database: options.books.database,
    handlers: { [PAYOUT]: payoutHandler(options) },
    chores: [
      {
        name: 'rail-events',
        run: () => receiveRailEvents({ books: options.books, name: SANDBOX_RAIL, rail, onError }),
      },
    ],
    concurrency,
    onError,
    random: () => 0.5,
  });
}

/** Does due work and, second by second, the work that follows from it. */
export async function work(world: World, worker: Worker, seconds: number): Promise<void> {
  for (let second = 0; second <= seconds; second++) {
    while ((await worker.step()) > 0);
    await passTime(world, 1_000);
  }
}

/**
 * Stops a worker before or after its nth call, as a power failure or a paused process does: no later call is made either, although
 * timers of the handler go on.
 */
export class Halt {
  readonly reached: Promise<void>;
  private readonly resumed: Promise<void>;
  private reach: () => void = () => undefined;
  /** Lets the stopped worker continue. */
  resume: () => void = () => undefined;
  private calls = 0;
  private isStopped = false;

  constructor(
    private readonly nth: number,
    private readonly where: 'before' | 'after',
  ) {
    this.reached = new Promise((resolve) => (this.reach = resolve));
    this.resumed = new Promise((resolve) => (this.resume = resolve));
  }

  /** A database whose calls stop there. */
  database(database: Database): Database {
    const { pipeline, transaction } = database;
    return Object.create(database, {
      pipeline: {
        value: (...args: Parameters<Database['pipeline']>) => this.pass(() => pipeline.apply(database, args)),
      },
      transaction: {
        value: (...args: Parameters<Database['transaction']>) => this.pass(() => transaction.apply(database, args)),
      },
    }) as Database;
  }

  /** A network whose calls stop there. */
  rail(rail: Rail): Rail {
    return {
      submit: (...args) => this.pass(() => rail.submit(...args)),
      find: (...args) => this.pass(() => rail.find(...args)),
      listSubmitted: (...args) => this.pass(() => rail.listSubmitted(...args)),
      receive: (limit) => this.pass(() => rail.receive(limit)),
      acknowledge: (events) => this.pass(() => rail.acknowledge(events)),
    };
  }

  private async pass<T>(call: () => Promise<T>): Promise<T> {
    if (this.isStopped) await this.resumed;
    const isHere = ++this.calls === this.nth;
    if (isHere && this.where === 'before') await this.stop();
    const result = await call();
    if (isHere && this.where === 'after') await this.stop();
    return result;
  }

  private stop(): Promise<void> {
    this.isStopped = true;
    this.reach();
    return this.resumed;
  }
}

/** A database that counts the statements which are sent to it, without BEGIN, COMMIT and the scope. */
export function countedDatabase(database: Database): { readonly database: Database; readonly names: string[] } {
  const names: string[] = [];
  const count = (bound: readonly BoundStatement<unknown>[] = []) =>
    void names.push(...bound.map(({ statement }) => statement.name));
  const { pipeline, transaction } = database;
  const counted = Object.create(database, {
    pipeline: {
      value: (...args: Parameters<Database['pipeline']>) => {
        count(args[1]);
        return pipeline.apply(database, args);
      },
    },
    transaction: {
      value: (...[scope, work, options]: Parameters<Database['transaction']>) =>
        transaction.call(database, scope, (tx) => work(countedTx(tx, count)), options),
    },
  }) as Database;
  return { database: counted, names };
}

function countedTx(tx: DbTransaction, count: (bound?: readonly BoundStatement<unknown>[]) => void): DbTransaction {
  return {
    pipeline: (bound) => {
      count(bound);
      return tx.pipeline(bound);
    },
    commit: (bound) => {
      count(bound);
      return tx.commit(bound);
    },
  };
}

export const CREDITED = '50100123456789';

export const REJECTED = '50100123459001';

/** The events of a payment to `CREDITED`. */
export const EVENTS = ['ACSP', 'ACSP', 'ACCC'];

/** Books after a restore, and a network in a database of its own, which nothing restored. */
export class Restored {
  private constructor(
    readonly world: World,
    readonly network: FreshDatabase,
    readonly rail: SandboxRail,
  ) {}

  static async open(): Promise<Restored> {
    const world = await openWorld();
    const network = await freshDatabase();
    return new Restored(world, network, new SandboxRail(network.database));
  }

  /** @returns what verifies the books and puts all rows of both databases back. */
  async keep(): Promise<() => Promise<Restored>> {
    const { world, network, rail } = this;
    const [restoreWorld, restoreNetwork] = [await keepWorld(world), await keepRows(network.owner)];
    return async () => {
      const found = await faults(world);
      await restoreNetwork();
      const restored = new Restored(await restoreWorld(), network, rail);
      expect(found).toEqual([]);
      return restored;
    };
  }

  reconcile(changes: Partial<ReconcileOptions> = {}) {
    const { world, rail } = this;
    return reconcilePayouts({
      books: world.books,
      rails: new Map([[SANDBOX_RAIL, rail]]),
      workspaceIds: [NORTH, SOUTH],
      ...changes,
    });
  }

  /** Submits as a worker did whose traces in the books are lost. */
  submitEarlier(key: string, account = CREDITED, amount = AMOUNT) {
    const payment = { key, amount, currency: 'USD', creditor: { name: 'Ravi Menon', account } };
    return this.rail.submit(payment, new AbortController().signal);
  }

  /** All events of the network happened, and were acknowledged after the backup. */
  async passDays(): Promise<void> {
    await this.network.owner.query(
      `update sandbox_rail_event set due_at = due_at - interval '1 day', acknowledged = true`,
    );
  }

  /** All events of the network happen now. */
  async passHour(): Promise<void> {
    await this.network.owner.query(`update sandbox_rail_event set due_at = due_at - interval '1 hour'`);
  }

  async payments() {
    return (await this.network.owner.query('select key, submissions from sandbox_rail_payment order by key')).rows;
  }

  async stateOf(id: number): Promise<unknown> {
    const { rows } = await this.world.owner.query(
      `select x.status, p.status as payout, p.tries,
              (select count(*)::int from transaction r where r.return_of = x.id) as returns,
              (select count(*)::int from remittance_event e
               where e.transaction_id = x.id) as events
       from transaction x join payout p on p.transaction_id = x.id where x.id = $1`,
      [id],
    );
    return rows[0];
  }

  /** Verifies the books and removes both databases. */
  async close(): Promise<void> {
    const found = await faults(this.world);
    await this.world.close();
    await this.network.close();
    expect(found).toEqual([]);
  }
}
