import type { AccountId, Order, RecipientId, TransferAmount } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { APP_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { Wire, openDatabase } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { cutAll, cutOnce, heal } from '../testing/test-databases.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, ada } = {} as OrderWorld;
let service: LedgerBankingService;
let wire: Wire;
let wired: Database;
let accountId: AccountId;
let recipientID: RecipientId;

beforeAll(async () => {
  ({ world, ada } = await orderWorld());
  wire = await Wire.lay(world.connection);
  wired = await openDatabase({ connection: wire.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 2 });
  service = new LedgerBankingService(wired, openBooks(wired));
  accountId = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  const to = (await service.openAccount(ada, { productID: 1 as never })).resource;
  recipientID = (await service.addInternalRecipient(ada, { accountCode: to.code ?? '' })).resource.id;
});
beforeEach(() => heal(wire));
afterAll(async () => {
  await wired.end();
  await wire.remove();
  await world.close();
});

async function placeLater(): Promise<Order> {
  const input = { accountId, recipientID, amount: '100' as TransferAmount, startAt: '2099-01-01T00:00:00Z' };
  return (await service.placeOrder(ada, { ...input, type: 'scheduled' })).resource;
}

describe('a cancellation whose confirmation is lost', () => {
  it('returns the cancelled order if it was committed', async () => {
    const { id } = await placeLater();
    cutOnce(wire, 'toClient', 'COMMIT');

    expect(await service.cancelOrder(ada, { accountId, orderId: id })).toMatchObject({ id, status: 'cancelled' });
  });

  it('cancels the order if it was not committed', async () => {
    const { id } = await placeLater();
    cutOnce(wire, 'toServer', 'cancel_order');

    expect(await service.cancelOrder(ada, { accountId, orderId: id })).toMatchObject({ id, status: 'cancelled' });
  });

  it('is refused with `outcome_unknown` if the database stays unreachable', async () => {
    const { id } = await placeLater();
    cutAll(wire, 'COMMIT');

    await expect(service.cancelOrder(ada, { accountId, orderId: id })).rejects.toMatchObject({
      reason: 'outcome_unknown',
    });
  });
});

describe('a resumption whose confirmation is lost', () => {
  /** An order without a placer, so that the retry recognises the first attempt by the new placer. */
  const paused = async () => {
    const { id } = await placeLater();
    await world.owner.query(`set session_replication_role = replica; update customer_order
      set paused_at = now(), pause_reason = 'placer_without_role', placed_by = null where id = ${id}; reset session_replication_role`);
    return id;
  };

  it.each([
    ['was committed', 'toClient', 'COMMIT'],
    ['was not committed', 'toServer', 'get_order'],
  ] as const)('returns the active order if it %s', async (_, side, point) => {
    const orderId = await paused();
    cutOnce(wire, side, point);

    const resumed = await service.resumeOrder(ada, { accountId, orderId });

    expect([resumed.id, resumed.status, resumed.pausedAt]).toEqual([orderId, 'active', undefined]);
  });

  it('is refused with `outcome_unknown` if the database stays unreachable', async () => {
    const orderId = await paused();
    cutAll(wire, 'COMMIT');

    await expect(service.resumeOrder(ada, { accountId, orderId })).rejects.toMatchObject({
      reason: 'outcome_unknown',
    });
  });
});
