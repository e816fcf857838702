import type { AccountId, Order, PlaceOrderInput, RecipientId, TransferAmount } from '@banking/domain';
import { DEMO_RATES } from '@banking/rates';
import { reasonOf } from '@banking/postgres/testing';
import { claimWork } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { OrderService } from './order-service.js';
import { runOrder } from './run-order.js';

let given: OrderWorld;
let { world, service, ada, account, near, balanceOf } = {} as typeof given;
/** The service of a deployment without a payment network, on the same books. */
let without: LedgerBankingService;
let from: AccountId;
let abroad: RecipientId;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, service, ada, account, near, balanceOf } = given);
  without = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES });
  from = await account(1, '10000000');
  abroad = world.demo.recipients['international'] as RecipientId;
});
afterAll(() => world.close());
afterEach(() => given.expectInOrder());

const LATER = { type: 'scheduled', startAt: '2099-01-01T00:00:00Z' } as const;
const abroadOf = (more: Partial<PlaceOrderInput> = {}): PlaceOrderInput =>
  given.order(from, abroad, { amount: '250000' as TransferAmount, purposeCode: 'IR001', ...more });
const written = async () =>
  (
    await world.owner
      .query(`select (select count(*) from customer_order) as orders, (select count(*) from transfer) as transfers,
                             (select count(*) from work) as work, (select count(*) from quote) as quotes`)
  ).rows[0];

describe('a deployment without a payment network', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['an order that pays abroad', () => without.placeOrder(ada, abroadOf())],
    ['a scheduled order that pays abroad', () => without.placeOrder(ada, abroadOf(LATER))],
    [
      'a quote for a recipient abroad',
      () => without.createQuote(ada, { accountID: from, recipientID: abroad, amount: '250000' as TransferAmount }),
    ],
  ])('refuses %s before it debits or writes', async (_what, act) => {
    const before = await written();

    expect(await reasonOf(act())).toBe('payouts_unavailable');

    expect([await balanceOf(from), await written()]).toEqual([10_000_000, before]);
  });

  it('refuses an order by a quote of the time when there was a network', async () => {
    const quoted = { accountID: from, recipientID: abroad, amount: '250000' as TransferAmount };
    const { resource: quote } = await service.createQuote(ada, quoted);

    expect(await reasonOf(without.placeOrder(ada, abroadOf({ quoteID: quote.id })))).toBe('payouts_unavailable');
    expect(await balanceOf(from)).toBe(10_000_000);
  });

  it('pays an account of the service', async () => {
    const to = await account(1, '0');

    await without.placeOrder(ada, given.order(from, await near(to)));

    expect(await balanceOf(to)).toBe(100);
  });

  it('accepts no purpose, because the network defines them', async () => {
    const inside = given.order(from, await near(await account(1, '0')), { purposeCode: 'IR001' });

    expect(await reasonOf(without.placeOrder(ada, inside))).toBe('purpose_code_invalid');
  });

  it('fails the run of an order that was scheduled before, without a debit', async () => {
    const before = await balanceOf(from);
    const { resource } = await service.placeOrder(ada, abroadOf(LATER));
    await world.owner.query(`update work set due_at = '2000-01-01' where kind = 'execution' and subject_id = $1`, [
      resource.edges.executions![0]!.id,
    ]);
    const [claim] = await claimWork(world.database, ['execution'], 1);

    await runOrder(new OrderService(world.books, DEMO_RATES), claim!);

    const order: Order = await service.getOrder(ada, { accountId: from, orderId: resource.id });
    expect(order).toMatchObject({
      status: 'failed',
      edges: {
        executions: [
          {
            status: 'failed',
            failureCode: 'payouts_unavailable',
            failureMessage: 'No payment network serves the corridor. Nothing was debited.',
          },
        ],
      },
    });
    expect(await balanceOf(from)).toBe(before);
  });

  it('replays the response to an order that it placed while it had a network', async () => {
    const key = given.key();
    const first = await service.placeOrder(ada, abroadOf(), key);

    expect(await without.placeOrder(ada, abroadOf(), key)).toEqual({ resource: first.resource, isReplay: true });
  });

  it('shows no corridor as enabled', async () => {
    const [open, closed] = await Promise.all([service, without].map((one) => one.listCorridors({}, { country: 'IN' })));

    expect(open!.some(({ enabled }) => enabled)).toBe(true);
    expect(closed).toEqual(open!.map((corridor) => ({ ...corridor, enabled: false })));
  });
});
