import {
  type AccountId,
  type BankingService,
  type Order,
  type PlaceOrderInput,
  type RecipientId,
  Refusal,
  type RequestOptions,
  type RoleName,
  type Scope,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import type { BoundStatement, Database, DbTransaction } from '@banking/postgres';
import { DEMO_RATES } from '@banking/reference';
import { Worker } from '@banking/work-queue';
import { readDemoBookings } from '../demo/index.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { OrderBatcher, type PostBatch } from '../orders/order-service.js';
import type { OrderOutcome, Placement, PreparedOrder } from '../orders/prepared-order.js';
import { addGrants, addUser } from '../provisioning/index.js';
import { REQUIRED_EVENTS } from '../verification/verify-events.js';
import { verifyPayments as verify } from '../verification/verify-payments.js';
import type { VerifyOptions } from '../verification/verify-ranges.js';
import { refreshStatistics, workOf } from '../worker/start-banking-worker.js';
import { sentBy } from './aged-workspaces.js';
import { demoDatabase } from './test-databases.js';

/** A user acting in a workspace. */
export type Member = Scope & { readonly workspaceId: WorkspaceId; readonly actor: UserId };

export type OrderWorld = Awaited<ReturnType<typeof orderWorld>>;

/** The demo data with the resources for specs of orders: members of two workspaces, accounts with a balance, and recipients. */
export async function orderWorld() {
  const world = await demoDatabase();
  const service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING });
  const member = (email: string, workspace: string): Member => ({
    actor: world.demo.users[email] as UserId,
    workspaceId: world.demo.workspaces[workspace] as WorkspaceId,
  });
  const ada = member('ada@northwind.example', 'Northwind Trading');
  const eve = member('eve@southwind.example', 'Southwind Imports');
  let keys = 0;

  /** An account in the currency of a product with a balance. */
  const account = async (product: number, amount: string, scope = ada): Promise<AccountId> => {
    const { resource } = await service.openAccount(scope, { productID: product as never });
    if (amount !== '0') await service.fundAccount(scope, { accountId: resource.id, amount: amount as TransferAmount });
    return resource.id;
  };
  /** A recipient of one workspace for an account of another, or of the same. */
  const near = async (accountId: AccountId, scope = ada, of = ada): Promise<RecipientId> => {
    const { code = '' } = await service.getAccount(of, { accountId });
    return (await service.addInternalRecipient(scope, { accountCode: code })).resource.id;
  };
  return {
    world,
    service,
    ada,
    eve,
    account,
    near,
    /** Request options with a new idempotency key. */
    key: (): RequestOptions => ({ idempotencyKey: `key-${(keys += 1)}` }),
    balanceOf: async (accountId: AccountId, scope = ada): Promise<unknown> =>
      (await service.getAccount(scope, { accountId })).edges.balances[0]?.amount,
    /** An instant order of 1.00. */
    order: (accountId: AccountId, recipientID: RecipientId, more: Partial<PlaceOrderInput> = {}): PlaceOrderInput => ({
      accountId,
      recipientID,
      amount: '100' as TransferAmount,
      type: 'instant',
      ...more,
    }),
    async expectInOrder(): Promise<void> {
      const all = Object.values(world.demo.workspaces);
      await expectBooksInOrder(world.database, all);
    },
  };
}

const APP = 'Northwind Treasury';

export const ADA = 'ada@northwind.example';

/** The fields of an order that is paused because its placer has no role. */
export const PAUSED = { status: 'active', pausedAt: expect.any(String) as string, pauseReason: 'placer_without_role' };

export const statesOf = ({ edges }: Order) => edges.executions?.map(({ status }) => status);

/** The demo data with an account that has a balance, users who place later orders from it, and a worker. */
export async function placerWorld() {
  const world = await demoDatabase();
  const { database: db, demo, owner } = world;
  const service = new LedgerBankingService(db, world.books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING }, true);
  const errors: unknown[] = [];
  const worker = new Worker(
    workOf(world, { orders: service.orders, rails: sandboxRails, onError: (error) => errors.push(error) }),
  );
  const workspaceId = demo.workspaces['Northwind Trading'] as WorkspaceId;
  const ada = { workspaceId, actor: demo.users[ADA] as UserId };
  const { resource: from } = await service.openAccount(ada, { productID: 1 as never });
  const { resource: to } = await service.openAccount(ada, { productID: 1 as never });
  const accountId: AccountId = from.id;
  await service.fundAccount(ada, { accountId, amount: '1000000' as TransferAmount });
  const { resource: recipient } = await service.addInternalRecipient(ada, { accountCode: to.code ?? '' });
  const recipientID: RecipientId = recipient.id;
  let [year, users] = [2040, 0];

  const work = async () => {
    while ((await worker.step()) > 0);
  };
  return {
    ...{ ...world, db, service, workspaceId, accountId, ada, work },
    /** A user with roles in the workspace. */
    async member(...roles: readonly RoleName[]) {
      users += 1;
      const email = `placer${users}@northwind.example`;
      const id = (await addUser(world.provisioning, 'ops', { email, app: APP })) as UserId;
      await addGrants(world.provisioning, 'ops', { workspaceId, email, roles: roles.length > 0 ? roles : ['member'] });
      return { id, email };
    },
    /** An order of a user in a year of its own: daily, or once on the first of March. */
    async orderOf(actor: UserId | undefined, type: 'recurring' | 'scheduled' = 'recurring') {
      year += 1;
      const march = (day: number) => `${year}-03-${String(day).padStart(2, '0')}T09:00:00Z`;
      const repeated = type === 'recurring' ? ({ repeatUnit: 'daily', repeatValue: 1 } as const) : {};
      const { resource } = await service.placeOrder(
        { workspaceId, ...(actor !== undefined && { actor }) },
        { accountId, recipientID, amount: '100' as TransferAmount, type, startAt: march(1), ...repeated },
      );
      const orderId = resource.id;
      const read = () => service.getOrder({ workspaceId }, { accountId, orderId });
      return {
        orderId,
        read,
        /** Moves the clock to a day of March, and does due work. */
        async day(day: number) {
          await service.moveClock({ workspaceId }, { now: march(day) });
          await work();
          return read();
        },
      };
    },
    onceReadRun: (happens: () => Promise<unknown>) => onceReadRun(db, happens),
    /** The changes of an order with their actors, oldest first. */
    async trail(orderId: number) {
      const { rows } = await owner.query<{ by: string; user_id: bigint | null; before: object; after: object }>(
        'select changed_by as by, user_id, before, after from order_change where order_id = $1 order by id',
        [orderId],
      );
      return rows;
    },
    async expectInOrder() {
      const all = Object.values(demo.workspaces);
      await expectBooksInOrder(db, all);
      expect(errors).toEqual([]);
    },
  };
}

/** Calls `happens` once, after the next runs were read and before they are decided. */
export function onceReadRun(database: Database, happens: () => Promise<unknown>): void {
  const pipeline = database.pipeline.bind(database);
  const spy = jest.spyOn(database, 'pipeline').mockImplementation(async (scope, bound) => {
    const rows = await pipeline(scope, bound);
    if (bound.some(({ statement }) => statement.name === 'read_runs')) {
      spy.mockRestore();
      await happens();
    }
    return rows as never;
  });
}

/** A company in Germany that is paid over SWIFT. The last four characters of its IBAN choose what the sandbox's network does. */
export async function recipientAbroad(service: BankingService, scope: Scope, iban: string): Promise<RecipientId> {
  const data = {
    beneficiaryName: 'Asha Rao',
    beneficiaryAddress: 'Uferstrasse 4, 13357 Berlin',
    destinationCountry: 'DE',
    beneficiaryAccountType: 'Corporate',
    beneficiaryCountryCode: 'DE',
    beneficiaryAccountNumber: iban,
    routingCodeType1: 'SWIFT',
    routingCodeValue1: 'DEUTDEFF',
  };
  const corridor = { payoutMethod: 'SWIFT', currencyCode: 'EUR', countryCode: 'DE' };
  return (await service.addInternationalRecipient(scope, { ...corridor, data })).resource.id;
}

/** Adds a recipient in India like this one, with another name or account. */
export async function recipientLike(
  service: BankingService,
  scope: Scope,
  recipientId: RecipientId,
  changed: Readonly<Record<string, string>>,
): Promise<RecipientId> {
  const { beneficiary } = (await service.getRecipient(scope, { recipientId })).edges;
  const corridor = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };
  const data = { ...beneficiary!.data, ...changed };
  return (await service.addInternationalRecipient(scope, { ...corridor, data })).resource.id;
}

/** Expects that the verification of books and payments finds nothing. */
export async function expectBooksInOrder(database: Database, workspaceIds: readonly number[]): Promise<void> {
  expect(await verifyPayments(database, workspaceIds)).toEqual([]);
  expect((await verifyBooks(database, workspaceIds)).findings).toEqual([]);
}

/**
 * `verifyPayments` for a database with demo data, which has bookings without orders.
 *
 * The planner's statistics are refreshed first, as by `banking verify`, because most specs have no worker, which does so: without
 * them, a statement over a few hundred payments may read the workspace for each.
 */
export async function verifyPayments(
  database: Database,
  workspaceIds: readonly number[],
  options: VerifyOptions = {},
): ReturnType<typeof verify> {
  await refreshStatistics(database);
  const bookedWithoutOrder = await readDemoBookings(database);
  return verify(database, workspaceIds, { ...options, bookedWithoutOrder });
}

/** Its findings, but for missing events: for a spec that plants rows, which have none. */
export async function verifyPlanted(database: Database, workspaceIds: readonly number[]): ReturnType<typeof verify> {
  return (await verifyPayments(database, workspaceIds)).filter(({ check }) => check !== REQUIRED_EVENTS.check);
}

export const RUN: OrderOutcome = { kind: 'run' };

export const LOCKED: OrderOutcome = { kind: 'locked', by: 'account' };

const refusal = new Refusal('account_not_found');

/** @param payee an account of the same workspace */
export const order = (workspaceId: number, accountId = 1, payee?: number): PreparedOrder & Placement => {
  const entries = payee === undefined ? [] : [{ workspaceId, legs: [{ account: accountId }, { account: payee }] }];
  const unread = { content: {} as never, executionId: 0, recipient: {} as never, caller: {} as never };
  return { kind: 'placement', workspaceId, accountId, ...unread, refusal, entries: entries as never };
};

export const range = (length: number) => Array.from({ length }, (_, index) => index);

/** A batcher whose batches are decided when the spec calls `commit`, and end when it calls `finish` or `fail`. */
export function slowBatcher(outcomeOf: (order: PreparedOrder, waits: boolean) => OrderOutcome = () => RUN) {
  const batches: {
    readonly of: readonly string[];
    readonly waits: boolean;
    commit(): void;
    finish(): void;
    fail(error: Error): void;
  }[] = [];
  const post: PostBatch = (orders, waits, commit) =>
    new Promise((resolve, reject) => {
      batches.push({
        of: orders.map(({ workspaceId, accountId }) => `${workspaceId}/${accountId}`),
        waits,
        commit,
        finish: () => resolve(orders.map((one) => outcomeOf(one, waits))),
        fail: reject,
      });
    });
  let nowMs = 0;
  const batcher = new OrderBatcher(post, () => nowMs);
  /** Lets a commit take a second. */
  const slowDown = async () => {
    const one = batcher.submit(order(99));
    await turn();
    batches[0]!.commit();
    nowMs += 1_000;
    batches[0]!.finish();
    await one;
    await turn();
    batches.length = 0;
  };
  return { batcher, batches, slowDown };
}

/** The statements that a call sends, those of its database transactions at the end, and how many round trips these take. */
export async function roundTripsOf(
  database: Database,
  call: () => Promise<unknown>,
): Promise<{
  readonly sent: readonly BoundStatement<unknown>[];
  readonly names: readonly string[];
  readonly roundTrips: number;
}> {
  const inTransactions: BoundStatement<unknown>[] = [];
  let roundTrips = 0;
  const noted =
    <Send extends (bound: readonly BoundStatement<unknown>[]) => unknown>(send: Send) =>
    (bound: readonly BoundStatement<unknown>[] = []) => {
      roundTrips += 1;
      inTransactions.push(...bound);
      return send(bound);
    };
  const transaction = database.transaction.bind(database);
  const spied = jest.spyOn(database, 'transaction').mockImplementation((scope, work, options) =>
    transaction(
      scope,
      (tx) =>
        work({
          pipeline: noted(tx.pipeline.bind(tx)),
          commit: noted(tx.commit.bind(tx)),
        } as DbTransaction),
      options,
    ),
  );
  const others = await sentBy(database, call).finally(() => spied.mockRestore());
  const sent = [...others, ...inTransactions];
  return { sent, names: sent.map(({ statement }) => statement.name), roundTrips };
}

/** Waits two turns of the event loop, so that work deferred to the next turn has started. */
export const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** Checks a response at every depth: nothing is null, ids are safe integers and named `…ID`, instants are RFC 3339 in UTC. */
export function expectWellFormed(resource: unknown, path = '$'): void {
  if (resource === null || resource === undefined) throw new Error(`${path} is ${String(resource)}`);
  if (Array.isArray(resource)) {
    resource.forEach((item, index) => expectWellFormed(item, `${path}[${index}]`));
    return;
  }
  if (typeof resource !== 'object') return;
  for (const [name, value] of Object.entries(resource)) {
    const here = `${path}.${name}`;
    if (/[a-z_]ids?$|Ids?$/.test(name)) throw new Error(`${here} is not spelled as the interface names ids`);
    if (/^id$|ID$/.test(name) && !(Number.isSafeInteger(value) && (value as number) > 0))
      throw new Error(`${here} is no id`);
    if (/At$/.test(name) && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(String(value))) {
      throw new Error(`${here} is no instant: ${String(value)}`);
    }
    if (/amount$/i.test(name) && path.match(/balance/) === null && !/^(0|[1-9][0-9]*)$/.test(value as string)) {
      throw new Error(`${here} is no amount: ${String(value)}`);
    }
    expectWellFormed(value, here);
  }
}
