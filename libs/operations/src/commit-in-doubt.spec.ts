import type { AccountId, Intent, OrderWish, RecipientId, Scope, TransferAmount, UserId, WorkspaceId } from '@banking/domain'; // prettier-ignore
import { openBooks, verifyBooks } from '@banking/ledger';
import { APP_ROLE, Database, SCHEMA } from '@banking/postgres';
import { Wire } from '@banking/postgres/testing';
import { LedgerBankingService } from './ledger-banking-service.js';
import { OrderDesk } from './orders/order-desk.js';
import { OrderLane } from './orders/order-lane.js';
import { postOrders, type ReadyOrder } from './orders/post-orders.js';
import { NO_RATES } from './rates/rate-source.js';
import { demoWorld, sql } from './testing/worlds.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: LedgerBankingService;
let orders: OrderDesk;
let wire: Wire;
let wired: Database;
let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };
let from: AccountId;
let recipientID: RecipientId;

beforeAll(async () => {
  world = await demoWorld();
  ada = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
  wire = await Wire.lay(world.connection);
  wired = await Database.open({ connection: wire.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 2 });
  const books = openBooks(wired);
  service = new LedgerBankingService(wired, books);
  const lane = new OrderLane(async (batch, waits) => {
    await meanwhile;
    return postOrders(books, batch.map(poisoned), waits);
  });
  orders = new OrderDesk(books, NO_RATES, { lane, resubmitAfterMs: [0, 1, 1] });
});
afterAll(async () => {
  await wired.end();
  await wire.remove();
  await world.close();
});
beforeEach(async () => {
  heal();
  from = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  const to = (await service.openAccount(ada, { productID: 1 as never })).resource;
  await service.fundAccount(ada, { accountId: from, amount: '1000' as TransferAmount });
  recipientID = (await service.addInternalRecipient(ada, { accountCode: to.code ?? '' })).resource.id;
});

/** Cuts the connection once, at the first bytes that hold the word. */
function cutOnce(direction: 'toServer' | 'toClient', word: string, onCut: () => unknown = () => undefined): void {
  let isCut = false;
  wire[direction] = (bytes) => {
    if (isCut || !bytes.includes(word)) return { pass: bytes };
    isCut = true;
    void onCut();
    return { isCut: true };
  };
}

/** Cuts the connection at the first answer that holds the word, and every connection from then on. */
function cutAll(word: string): void {
  let isCut = false;
  wire.toClient = (bytes) => {
    isCut ||= bytes.includes(word);
    return isCut ? { isCut } : { pass: bytes };
  };
}

function heal(): void {
  wire.toServer = (bytes) => ({ pass: bytes });
  wire.toClient = (bytes) => ({ pass: bytes });
}

/** What has to happen before the next batch is posted. */
let meanwhile: Promise<unknown> | undefined;

/** The order with the key `poison` has a write that the database rejects. */
const poisoned = (order: ReadyOrder): ReadyOrder =>
  order.key?.key === 'poison'
    ? { ...order, sheet: (posted) => ({ ...order.sheet(posted), changes: [sql('select 1 / 0')] }) }
    : order;

const place = (intent: Intent = {}, amount = '100', more: Partial<OrderWish> = {}) => {
  const wish: OrderWish = { accountId: from, recipientID, amount: amount as TransferAmount, type: 'instant', ...more };
  return orders.place(ada, wish, intent);
};
const range = (length: number) => Array.from({ length }, (_, index) => index);

describe('Given a connection that is lost around the commit of an order', () => {
  it.each<[string, 'toServer' | 'toClient', string, Intent]>([
    ['before the database has read it, with a key', 'toServer', 'insert_transfers', { idempotencyKey: 'lost-1' }],
    ['after it was done, with a key', 'toClient', 'COMMIT', { idempotencyKey: 'lost-2' }],
    ['after it was done, without a key', 'toClient', 'COMMIT', {}],
  ])('When it is lost %s, Then the order is placed once, and answered', async (_, direction, word, intent) => {
    cutOnce(direction, word);

    const { resource } = await place(intent);

    expect(resource).toMatchObject({ status: 'completed' });
    const { items } = await service.listOrders(ada, { accountId: from });
    expect(items).toEqual([resource]);
    const account = await service.getAccount(ada, { accountId: from });
    expect(account.edges.balances[0]?.amount).toBe(900);
    expect((await verifyBooks(world.database, [ada.workspaceId])).findings).toEqual([]);
  });
});

describe('Given a connection that is lost around the commit of something else', () => {
  const open = (idempotencyKey: string) => service.openAccount(ada, { productID: 1 as never, alias: idempotencyKey }, { idempotencyKey }); // prettier-ignore
  const count = async (alias: string) =>
    (await service.listAccounts(ada, { limit: 500 })).items.filter((account) => account.alias === alias).length;

  it('When it was done, Then it is answered with its key, and was done once', async () => {
    cutOnce('toClient', 'COMMIT');

    const { resource } = await open('doubt-1');

    expect(resource).toMatchObject({ alias: 'doubt-1' });
    expect(await count('doubt-1')).toBe(1);
    expect(await open('doubt-1')).toEqual({ resource, isReplay: true });
  });

  it('When it was not done, Then that is said, and the next try does it', async () => {
    cutOnce('toServer', 'commit');

    await expect(open('doubt-2')).rejects.toMatchObject({ reason: 'unavailable' });

    expect(await count('doubt-2')).toBe(0);
    expect(await open('doubt-2')).toMatchObject({ isReplay: false });
  });

  it('When the database stays away, Then the outcome is unknown, and the key tells later', async () => {
    cutAll('COMMIT');

    await expect(open('doubt-3')).rejects.toMatchObject({ reason: 'outcome_unknown', status: 504 });
    heal();

    expect(await open('doubt-3')).toMatchObject({ isReplay: true });
    expect(await count('doubt-3')).toBe(1);
  });

  it('When it had no key, Then the outcome is unknown', async () => {
    cutOnce('toClient', 'COMMIT');

    await expect(service.openAccount(ada, { productID: 1 as never, alias: 'doubt-4' })).rejects.toMatchObject({ reason: 'outcome_unknown' }); // prettier-ignore

    expect(await count('doubt-4')).toBe(1);
  });
});

describe('Given an order that has used up the balance when its confirmation is lost', () => {
  it.each<[string, Intent]>([
    ['a key', { idempotencyKey: 'all-of-it' }],
    ['no key', {}],
  ])('When it had %s, Then it is answered with that order', async (_, intent) => {
    cutOnce('toClient', 'COMMIT');

    const { resource, isReplay } = await place(intent, '1000');

    expect([resource.status, isReplay]).toEqual(['completed', false]);
    expect((await service.listOrders(ada, { accountId: from })).items).toEqual([resource]);
  });

  it('When the account is disabled since, Then it is answered with that order', async () => {
    const unharmed = new LedgerBankingService(world.database, world.books);
    const disable = () => unharmed.changeAccount(ada, { accountId: from, status: 'disabled' });
    cutOnce('toClient', 'COMMIT', () => (meanwhile = disable()));

    const { resource } = await place({}, '100');

    expect((await service.listOrders(ada, { accountId: from })).items.map(({ id }) => id)).toEqual([resource.id]);
    expect((await service.getAccount(ada, { accountId: from })).status).toBe('disabled');
  });

  it('When the database stays away, Then the outcome is unknown, with and without a key', async () => {
    for (const intent of [{ idempotencyKey: 'away' }, {}]) {
      cutAll('COMMIT');

      await expect(place(intent)).rejects.toMatchObject({ reason: 'outcome_unknown', status: 504 });
      heal();
    }

    expect((await service.listOrders(ada, { accountId: from })).items).toHaveLength(2);
    expect(await place({ idempotencyKey: 'away' })).toMatchObject({ isReplay: true });
  });

  it('When it stood in a part of a batch that the database had rejected, Then each order is placed once', async () => {
    cutOnce('toClient', 'COMMIT');

    const poison = expect(place({ idempotencyKey: 'poison' })).rejects.toMatchObject({ code: '22012' });
    const placed = await Promise.all(range(5).map(() => place()));
    await poison;

    const { items } = await service.listOrders(ada, { accountId: from });
    expect(items.map(({ id }) => id).sort()).toEqual(placed.map(({ resource }) => resource.id).sort());
    expect((await service.getAccount(ada, { accountId: from })).edges.balances[0]?.amount).toBe(500);
  });
});

describe('Given a cancellation whose confirmation is lost', () => {
  const later = async () => (await place({}, '100', { type: 'scheduled', startAt: '2099-01-01T00:00:00Z' })).resource;

  it('When it was done, Then it is answered with the cancelled order', async () => {
    const { id } = await later();
    cutOnce('toClient', 'COMMIT');

    expect(await service.cancelOrder(ada, { accountId: from, orderId: id })).toMatchObject({ id, status: 'cancelled' });
  });

  it('When it was not done, Then it is done now', async () => {
    const { id } = await later();
    cutOnce('toServer', 'cancel_order');

    expect(await service.cancelOrder(ada, { accountId: from, orderId: id })).toMatchObject({ id, status: 'cancelled' });
  });

  it('When the database stays away, Then the outcome is unknown', async () => {
    const { id } = await later();
    cutAll('COMMIT');

    await expect(service.cancelOrder(ada, { accountId: from, orderId: id })).rejects.toMatchObject({ reason: 'outcome_unknown' }); // prettier-ignore
  });
});

describe('Given a resumption whose confirmation is lost', () => {
  /** An order of the deployment itself, so that the second attempt tells the first by its placer. */
  const paused = async () => {
    const { resource } = await place({}, '100', { type: 'scheduled', startAt: '2099-01-01T00:00:00Z' });
    await world.owner.query(`set session_replication_role = replica; update customer_order
      set paused_at = now(), pause_reason = 'placer_without_role', placed_by = null where id = ${resource.id}; reset session_replication_role`);
    return resource.id;
  };

  it.each([
    ['was done', 'toClient', 'COMMIT'],
    ['was not done', 'toServer', 'get_order'],
  ] as const)('When it %s, Then it is answered with the order, which runs again', async (_, side, point) => {
    const orderId = await paused();
    cutOnce(side, point);

    const resumed = await service.resumeOrder(ada, { accountId: from, orderId });

    expect([resumed.id, resumed.status, resumed.pausedAt]).toEqual([orderId, 'active', undefined]);
  });

  it('When the database stays away, Then the outcome is unknown', async () => {
    const orderId = await paused();
    cutAll('COMMIT');

    await expect(service.resumeOrder(ada, { accountId: from, orderId })).rejects.toMatchObject({ reason: 'outcome_unknown' }); // prettier-ignore
  });
});
