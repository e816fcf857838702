import type { AccountId, Intent, OrderWish, RecipientId, Scope, TransferAmount, UserId, WorkspaceId } from '@banking/domain'; // prettier-ignore
import { openBooks, verifyBooks } from '@banking/ledger';
import { APP_ROLE, Database, SCHEMA } from '@banking/postgres';
import { Wire } from '@banking/postgres/testing';
import { LedgerBankingService } from './ledger-banking-service.js';
import { demoWorld } from './testing/worlds.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: LedgerBankingService;
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
  service = new LedgerBankingService(wired, openBooks(wired));
});
afterAll(async () => {
  await wired.end();
  await wire.remove();
  await world.close();
});
beforeEach(async () => {
  wire.toServer = (bytes) => ({ pass: bytes });
  wire.toClient = (bytes) => ({ pass: bytes });
  from = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  const to = (await service.openAccount(ada, { productID: 1 as never })).resource;
  await service.fundAccount(ada, { accountId: from, amount: '1000' as TransferAmount });
  recipientID = (await service.addInternalRecipient(ada, { accountCode: to.code ?? '' })).resource.id;
});

/** Lets what matches through once and cuts the connection at the first that does, then never again. */
function cutOnce(direction: 'toServer' | 'toClient', word: string): void {
  let isCut = false;
  wire[direction] = (bytes) => {
    if (isCut || !bytes.includes(word)) return { pass: bytes };
    isCut = true;
    return { isCut: true };
  };
}
const place = (intent: Intent = {}) => {
  const wish: OrderWish = { accountId: from, recipientID, amount: '100' as TransferAmount, type: 'instant' };
  return service.placeOrder(ada, wish, intent);
};

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
});
