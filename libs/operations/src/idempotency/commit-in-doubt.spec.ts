import type { AccountId, RequestOptions, PlaceOrderInput, RecipientId, TransferAmount } from '@banking/domain';
import { openBooks, verifyBooks } from '@banking/ledger';
import { APP_ROLE, type Database, SCHEMA, SQLSTATE } from '@banking/postgres';
import { Wire, openDatabase } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { OrderBatcher, OrderService } from '../orders/order-service.js';
import { placeOrder } from '../orders/place-order.js';
import { postOrders } from '../orders/post-orders.js';
import type { PreparedOrder } from '../orders/prepared-order.js';
import { NO_RATES } from '@banking/rates';
import { cutAll, cutOnce, heal } from '../testing/test-databases.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, ada } = {} as OrderWorld;
let service: LedgerBankingService;
let orders: OrderService;
let wire: Wire;
let wired: Database;
let from: AccountId;
let recipientID: RecipientId;

beforeAll(async () => {
  ({ world, ada } = await orderWorld());
  wire = await Wire.lay(world.connection);
  wired = await openDatabase({ connection: wire.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 2 });
  const books = openBooks(wired);
  service = new LedgerBankingService(wired, books);
  const batcher = new OrderBatcher(async (batch, waitsForLocks) => {
    await meanwhile;
    await beforeBatch?.();
    return postOrders({ books, reference: orders.reading.reference }, batch.map(poisoned), waitsForLocks);
  });
  orders = new OrderService(books, NO_RATES, { batcher, retryPolicy: { triesMax: 4, firstMs: 1, maxMs: 1 } });
});
afterAll(async () => {
  await wired.end();
  await wire.remove();
  await world.close();
});
beforeEach(async () => {
  heal(wire);
  from = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  const to = (await service.openAccount(ada, { productID: 1 as never })).resource;
  await service.fundAccount(ada, { accountId: from, amount: '1000' as TransferAmount });
  recipientID = (await service.addInternalRecipient(ada, { accountCode: to.code ?? '' })).resource.id;
});

/** The next batch is posted after this. */
let meanwhile: Promise<unknown> | undefined;
/** Called before each batch is posted. */
let beforeBatch: (() => Promise<void>) | undefined;

/** The order with the key `poison` has an unknown repeat unit, which the database rejects. */
const poisoned = (order: PreparedOrder): PreparedOrder =>
  order.kind === 'placement' && order.key?.key === 'poison'
    ? { ...order, draft: { ...order.draft, repeatUnit: 'poison' as never } }
    : order;

const place = (options: RequestOptions = {}, amount = '100', more: Partial<PlaceOrderInput> = {}) => {
  const input: PlaceOrderInput = {
    accountId: from,
    recipientID,
    amount: amount as TransferAmount,
    type: 'instant',
    ...more,
  };
  return placeOrder(orders, ada, input, options);
};
const range = (length: number) => Array.from({ length }, (_, index) => index);

describe('an order whose connection is lost around the commit', () => {
  it.each<[string, 'toServer' | 'toClient', string, RequestOptions]>([
    ['before the database has read it, with a key', 'toServer', 'insert_transfers', { idempotencyKey: 'lost-1' }],
    ['before the database has read COMMIT, without a key', 'toServer', 'commit', {}],
    ['after it was done, with a key', 'toClient', 'COMMIT', { idempotencyKey: 'lost-2' }],
    ['after it was done, without a key', 'toClient', 'COMMIT', {}],
  ])('is placed once if the connection is lost %s', async (_, direction, text, options) => {
    cutOnce(wire, direction, text);

    const { resource } = await place(options);

    expect(resource).toMatchObject({ status: 'completed' });
    const { items } = await service.listOrders(ada, { accountId: from });
    expect(items).toEqual([resource]);
    const account = await service.getAccount(ada, { accountId: from });
    expect(account.edges.balances[0]?.amount).toBe(900);
    expect((await verifyBooks(world.database, [ada.workspaceId])).findings).toEqual([]);
  });
});

it('returns the response of the commit in doubt, also if the order has changed since', async () => {
  const options = { idempotencyKey: 'lost-3' };
  const other = new LedgerBankingService(world.database, world.books);
  let attempts = 0;
  beforeBatch = async () => {
    attempts += 1;
    if (attempts === 2) await other.changeAccount(ada, { accountId: from, alias: 'Later' });
  };
  cutOnce(wire, 'toClient', 'COMMIT');

  const first = await place(options).finally(() => (beforeBatch = undefined));

  expect([attempts, first.isReplay, first.resource.edges.account?.alias]).toEqual([2, false, undefined]);
  expect(await place(options)).toEqual({ resource: first.resource, isReplay: true });
});

describe('another creation whose connection is lost around the commit', () => {
  const open = (idempotencyKey: string) =>
    service.openAccount(ada, { productID: 1 as never, alias: idempotencyKey }, { idempotencyKey });
  const count = async (alias: string) =>
    (await service.listAccounts(ada, { limit: 500 })).items.filter((account) => account.alias === alias).length;

  it('is returned by its key if it was committed', async () => {
    cutOnce(wire, 'toClient', 'COMMIT');

    const { resource, isReplay } = await open('doubt-1');

    expect([resource.alias, isReplay]).toEqual(['doubt-1', false]);
    expect(await count('doubt-1')).toBe(1);
    expect(await open('doubt-1')).toEqual({ resource, isReplay: true });
  });

  it('is refused with `unavailable` if it was not committed, and succeeds when retried', async () => {
    cutOnce(wire, 'toServer', 'commit');

    await expect(open('doubt-2')).rejects.toMatchObject({
      reason: 'unavailable',
      message: 'The connection to the database was lost. Nothing was done.',
      retryAfterSeconds: 1,
      cause: { reason: 'outcome_unknown' },
    });

    expect(await count('doubt-2')).toBe(0);
    expect(await open('doubt-2')).toMatchObject({ isReplay: false });
  });

  it('is refused with `outcome_unknown` if the database stays unreachable, and is a replay later', async () => {
    cutAll(wire, 'COMMIT');

    await expect(open('doubt-3')).rejects.toMatchObject({ reason: 'outcome_unknown', status: 504 });
    heal(wire);

    expect(await open('doubt-3')).toMatchObject({ isReplay: true });
    expect(await count('doubt-3')).toBe(1);
  });

  it('is refused with `outcome_unknown` without a key', async () => {
    cutOnce(wire, 'toClient', 'COMMIT');

    await expect(service.openAccount(ada, { productID: 1 as never, alias: 'doubt-4' })).rejects.toMatchObject({
      reason: 'outcome_unknown',
    });

    expect(await count('doubt-4')).toBe(1);
  });
});

describe('an order that has used up the balance when its confirmation is lost', () => {
  it.each<[string, RequestOptions]>([
    ['a key', { idempotencyKey: 'all-of-it' }],
    ['no key', {}],
  ])('is returned if it had %s', async (_, options) => {
    cutOnce(wire, 'toClient', 'COMMIT');

    const { resource, isReplay } = await place(options, '1000');

    expect([resource.status, isReplay]).toEqual(['completed', false]);
    expect((await service.listOrders(ada, { accountId: from })).items).toEqual([resource]);
  });

  it('is returned if the account was disabled since', async () => {
    const unharmed = new LedgerBankingService(world.database, world.books);
    const disable = () => unharmed.changeAccount(ada, { accountId: from, status: 'disabled' });
    cutOnce(wire, 'toClient', 'COMMIT', () => (meanwhile = disable()));

    const { resource } = await place({}, '100');

    expect((await service.listOrders(ada, { accountId: from })).items.map(({ id }) => id)).toEqual([resource.id]);
    expect((await service.getAccount(ada, { accountId: from })).status).toBe('disabled');
  });

  it('is refused with `outcome_unknown` if the database stays unreachable, with and without a key', async () => {
    for (const options of [{ idempotencyKey: 'away' }, {}]) {
      cutAll(wire, 'COMMIT');

      await expect(place(options)).rejects.toMatchObject({ reason: 'outcome_unknown', status: 504 });
      heal(wire);
    }

    expect((await service.listOrders(ada, { accountId: from })).items).toHaveLength(2);
    expect(await place({ idempotencyKey: 'away' })).toMatchObject({ isReplay: true });
  });

  it('is placed once in a part of a batch that the database rejected', async () => {
    cutOnce(wire, 'toClient', 'COMMIT');

    const poison = expect(place({ idempotencyKey: 'poison' })).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
    const placed = await Promise.all(range(5).map(() => place()));
    await poison;

    const { items } = await service.listOrders(ada, { accountId: from });
    expect(items.map(({ id }) => id).sort()).toEqual(placed.map(({ resource }) => resource.id).sort());
    expect((await service.getAccount(ada, { accountId: from })).edges.balances[0]?.amount).toBe(500);
  });
});
