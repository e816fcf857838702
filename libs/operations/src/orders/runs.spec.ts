import type { AccountId, Order, OrderWish, RecipientId, Scope, TransferAmount, UserId, WorkspaceId } from '@banking/domain'; // prettier-ignore
import { verifyBooks } from '@banking/ledger';
import type { Claim } from '@banking/payouts';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '../rates/demo-rate-source.js';
import { expectWellFormed } from '../testing/resources.js';
import { demoWorld, wordOf } from '../testing/worlds.js';
import { verifyPayments } from '../verify-payments.js';
import { OrderDesk } from './order-desk.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: LedgerBankingService;
let desk: OrderDesk;
let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };

beforeAll(async () => {
  world = await demoWorld();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES });
  desk = new OrderDesk(world.books, DEMO_RATES);
  ada = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
});
afterAll(() => world.close());
afterEach(async () => {
  const all = Object.values(world.demo.workspaces);
  expect((await verifyBooks(world.database, all)).findings).toEqual([]);
  expect(await verifyPayments(world.database, all)).toEqual([]);
});

/** Claims the work of an execution as a worker does; without the wait for its time. */
async function claimOf(executionId: number): Promise<Claim> {
  const { rows } = await world.owner.query<{ fence: bigint }>(
    `update work set leased_until = clock_timestamp() + interval '30 s', fence = fence + 1
     where kind = 'execution' and subject_id = $1 returning fence`,
    [executionId],
  );
  const { workspaceId } = ada;
  return { workspaceId, kind: 'execution', subjectId: executionId, fence: rows[0]?.fence ?? 0n, tries: 1, delays: 0 };
}

async function account(amount: string): Promise<AccountId> {
  const { resource } = await service.openAccount(ada, { productID: 1 as never });
  if (amount !== '0') await service.fundAccount(ada, { accountId: resource.id, amount: amount as TransferAmount });
  return resource.id;
}
const balanceOf = async (accountId: AccountId) =>
  (await service.getAccount(ada, { accountId })).edges.balances[0]?.amount as unknown;
async function near(accountId: AccountId): Promise<RecipientId> {
  const { code = '' } = await service.getAccount(ada, { accountId });
  return (await service.addInternalRecipient(ada, { accountCode: code })).resource.id;
}

/** An order for later between two accounts of the workspace. */
async function later(amount: string, more: Partial<OrderWish> = {}) {
  const [from, to] = [await account(amount), await account('0')];
  const wish: OrderWish = {
    accountId: from,
    recipientID: await near(to),
    amount: '100' as TransferAmount,
    type: 'recurring',
    repeatUnit: 'monthly',
    repeatValue: 1,
    startAt: '2099-01-31T09:00:00+01:00',
    ...more,
  };
  const { resource } = await service.placeOrder(ada, wish);
  return { from, to, order: resource, read: () => service.getOrder(ada, { accountId: from, orderId: resource.id }) };
}
const ONCE = { type: 'scheduled', repeatUnit: undefined, repeatValue: undefined } as const;

const dueOf = ({ edges }: Order) => edges.executions?.find(({ status }) => status === 'scheduled')?.id ?? 0;
const statesOf = ({ edges }: Order) => edges.executions?.map(({ sequence, status }) => [sequence, status]);
const run = async (order: Order) => desk.run(await claimOf(dueOf(order)));
const queued = async (order: Order) =>
  (
    await world.owner.query<{ due: string }>(
      `select rfc3339(w.due_at) as due from work w join execution e on e.id = w.subject_id
       where w.kind = 'execution' and e.order_id = $1 order by 1`,
      [order.id],
    )
  ).rows.map(({ due }) => due);

describe('Given an order for later', () => {
  it('When it is placed, Then no money has moved, and its first run is in the queue', async () => {
    const { from, order } = await later('1000', ONCE);

    expectWellFormed(order);
    expect(order).toMatchObject({ status: 'active', startAt: '2099-01-31T08:00:00.000000Z' });
    expect(statesOf(order)).toEqual([[1, 'scheduled']]);
    expect(await queued(order)).toEqual(['2099-01-31T08:00:00.000000Z']);
    expect(await balanceOf(from)).toBe(1_000);
  });

  it('When its run is due, Then it is carried out, once, and the order is over', async () => {
    const { from, to, order, read } = await later('1000', ONCE);

    await Promise.all([run(order), run(order), run(order)]);
    await run(order);

    const ran = await read();
    expectWellFormed(ran);
    expect(ran.status).toBe('completed');
    expect(statesOf(ran)).toEqual([[1, 'completed']]);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([900, 100]);
  });

  it('When there is no money, Then its run has failed with the reason, and so has the order', async () => {
    const { order, read } = await later('0', ONCE);

    await run(order);

    expect(await read()).toMatchObject({
      status: 'failed',
      edges: { executions: [{ status: 'failed', failureCode: 'insufficient_funds', failureMessage: 'The account does not hold the amount.' }] }, // prettier-ignore
    });
  });

  it('When it is cancelled before, Then it never runs', async () => {
    const { from, order, read } = await later('1000', ONCE);

    const cancelled = await service.cancelOrder(ada, { accountId: from, orderId: order.id });
    await run(order);

    expect(cancelled.status).toBe('cancelled');
    expect(statesOf(await read())).toEqual([[1, 'cancelled']]);
    expect(await balanceOf(from)).toBe(1_000);
    expect(await wordOf(service.cancelOrder(ada, { accountId: from, orderId: order.id }))).toBe(
      'order_not_cancellable',
    );
  });

  it('When it is cancelled while it runs, Then one of the two has happened, whole', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { from, order, read } = await later('1000', ONCE);
      const name = { accountId: from, orderId: order.id };

      const [, cancelling] = await Promise.all([run(order), wordOf(service.cancelOrder(ada, name))]);

      const after = await read();
      const ran = after.status === 'completed';
      expect(cancelling).toBe(ran ? 'order_not_cancellable' : undefined);
      expect(statesOf(after)).toEqual([[1, ran ? 'completed' : 'cancelled']]);
      expect(await balanceOf(from)).toBe(ran ? 900 : 1_000);
    }
  });
});

describe('Given a run whose claim another worker has taken over', () => {
  it('When both carry it out at once, Then it is paid once, by the later claim', async () => {
    const { from, order, read } = await later('1000', ONCE);
    const claims = [await claimOf(dueOf(order)), await claimOf(dueOf(order))];

    await desk.run(claims[0]!);
    expect(await balanceOf(from)).toBe(1_000);
    await Promise.all(claims.map((claim) => desk.run(claim)));

    expect(statesOf(await read())).toEqual([[1, 'completed']]);
    expect(await balanceOf(from)).toBe(900);
  });
});

describe('Given a recurring order', () => {
  it('When it runs, Then the next is counted from its anchor, clamped to the end of the month', async () => {
    const { from, order, read } = await later('1000');

    await run(order);
    await run(await read());

    expect(statesOf(await read())).toEqual([[1, 'completed'], [2, 'completed'], [3, 'scheduled']]); // prettier-ignore
    expect((await read()).edges.executions?.map(({ scheduledAt }) => scheduledAt?.slice(0, 16))).toEqual([
      '2099-01-31T08:00',
      '2099-02-28T08:00',
      '2099-03-31T08:00',
    ]);
    expect((await read()).status).toBe('active');
    expect(await balanceOf(from)).toBe(800);
  });

  it('When its last run is over, Then it is completed', async () => {
    const { order, read } = await later('1000', { stopAt: '2099-02-28T09:00:00+01:00' });

    await run(order);
    await run(await read());

    expect(await read()).toMatchObject({ status: 'completed' });
    expect(statesOf(await read())).toEqual([[1, 'completed'], [2, 'completed']]); // prettier-ignore
  });

  it('When its times have more digits than the database keeps, Then it runs up to its stop, that run included', async () => {
    const at = { startAt: '2099-01-31T09:00:00.1234567+01:00', stopAt: '2099-02-28T09:00:00.1234567+01:00' };
    const { order, read } = await later('1000', at);

    await run(order);
    await run(await read());

    expect(await read()).toMatchObject({ status: 'completed', startAt: '2099-01-31T08:00:00.123456Z' });
    expect(statesOf(await read())).toEqual([[1, 'completed'], [2, 'completed']]); // prettier-ignore
  });

  it('When two in a row have failed, Then it goes on; When three have, Then it has failed', async () => {
    const { from, order, read } = await later('0');

    await run(order);
    await run(await read());
    expect((await read()).status).toBe('active');
    await service.fundAccount(ada, { accountId: from, amount: '100' as TransferAmount });
    await run(await read());
    for (let failed = 0; failed < 3; failed += 1) await run(await read());

    expect((await read()).status).toBe('failed');
    expect(statesOf(await read())?.map(([, status]) => status)).toEqual(['failed', 'failed', 'completed', 'failed', 'failed', 'failed']); // prettier-ignore
  });

  it('When runs were missed, Then one is made up for, and the next lies ahead', async () => {
    const { from, order, read } = await later('1000', { repeatUnit: 'daily' });
    await world.owner.query(
      `update customer_order set anchor = '2020-01-01T09:00:00Z', start_at = '2020-01-01T09:00:00Z' where id = $1`,
      [order.id],
    );
    await world.owner.query(`update execution set scheduled_at = '2020-01-01T09:00:00Z' where order_id = $1`, [
      order.id,
    ]);

    await run(order);

    const after = await read();
    expect(statesOf(after)?.map(([, status]) => status)).toEqual(['completed', 'scheduled']);
    const next = after.edges.executions?.at(-1);
    expect(next?.sequence).toBeGreaterThan(2_000);
    expect(Date.parse(next?.scheduledAt ?? '')).toBeGreaterThan(Date.now());
    expect(await balanceOf(from)).toBe(900);
  });

  it('When it is cancelled while it runs, Then no run is left behind', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { from, order, read } = await later('1000');

      await Promise.all([run(order), service.cancelOrder(ada, { accountId: from, orderId: order.id })]); // prettier-ignore

      const after = await read();
      expect(after.status).toBe('cancelled');
      expect(statesOf(after)?.map(([, status]) => status)).not.toContain('scheduled');
    }
  });
});
