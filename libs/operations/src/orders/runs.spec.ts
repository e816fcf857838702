import type { Order, PlaceOrderInput, TransferAmount } from '@banking/domain';
import type { Claim } from '@banking/work-queue';
import { DEMO_RATES } from '@banking/rates';
import { expectWellFormed, orderWorld, type OrderWorld } from '../testing/order-world.js';
import { reasonOf } from '@banking/postgres/testing';
import { OrderService } from './order-service.js';
import { runOrder } from './run-order.js';

let given: OrderWorld;
let { world, service, ada, account, near, balanceOf } = {} as typeof given;
let orders: OrderService;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, service, ada, account, near, balanceOf } = given);
  orders = new OrderService(world.books, DEMO_RATES, { hasPayoutNetwork: true });
});
afterAll(() => world.close());
afterEach(() => given.expectInOrder());

/** Claims the work of an execution as a worker does, before it is due. */
async function claimOf(executionId: number): Promise<Claim> {
  const { rows } = await world.owner.query<{ fence: bigint }>(
    `update work set leased_until = clock_timestamp() + interval '30 s', fence = fence + 1
     where kind = 'execution' and subject_id = $1 returning fence`,
    [executionId],
  );
  const { workspaceId } = ada;
  return { workspaceId, kind: 'execution', subjectId: executionId, fence: rows[0]?.fence ?? 0n, tries: 1, delays: 0 };
}

/** Places a later order between two accounts of the workspace. */
async function later(amount: string, more: Partial<PlaceOrderInput> = {}) {
  const [from, to] = [await account(1, amount), await account(1, '0')];
  const input: PlaceOrderInput = {
    accountId: from,
    recipientID: await near(to),
    amount: '100' as TransferAmount,
    type: 'recurring',
    repeatUnit: 'monthly',
    repeatValue: 1,
    startAt: '2099-01-31T09:00:00+01:00',
    ...more,
  };
  const { resource } = await service.placeOrder(ada, input);
  return { from, to, order: resource, read: () => service.getOrder(ada, { accountId: from, orderId: resource.id }) };
}
const ONCE = { type: 'scheduled', repeatUnit: undefined, repeatValue: undefined } as const;

const dueOf = ({ edges }: Order) => edges.executions?.find(({ status }) => status === 'scheduled')?.id ?? 0;
const statesOf = ({ edges }: Order) => edges.executions?.map(({ sequence, status }) => [sequence, status]);
const run = async (order: Order) => runOrder(orders, await claimOf(dueOf(order)));
const queued = async (order: Order) =>
  (
    await world.owner.query<{ due: string }>(
      `select rfc3339(w.due_at) as due from work w join execution e on e.id = w.subject_id
       where w.kind = 'execution' and e.order_id = $1 order by 1`,
      [order.id],
    )
  ).rows.map(({ due }) => due);

describe('a scheduled order', () => {
  it('moves no money when it is placed, and has its first run in the queue', async () => {
    const { from, order } = await later('1000', ONCE);

    expectWellFormed(order);
    expect(order).toMatchObject({ status: 'active', startAt: '2099-01-31T08:00:00.000000Z' });
    expect(statesOf(order)).toEqual([[1, 'scheduled']]);
    expect(await queued(order)).toEqual(['2099-01-31T08:00:00.000000Z']);
    expect(await balanceOf(from)).toBe(1_000);
  });

  it('is completed by its run, once', async () => {
    const { from, to, order, read } = await later('1000', ONCE);

    await Promise.all([run(order), run(order), run(order)]);
    await run(order);

    const ran = await read();
    expectWellFormed(ran);
    expect(ran.status).toBe('completed');
    expect(statesOf(ran)).toEqual([[1, 'completed']]);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([900, 100]);
  });

  it('fails with its run if the account holds too little', async () => {
    const { order, read } = await later('0', ONCE);

    await run(order);

    expect(await read()).toMatchObject({
      status: 'failed',
      edges: {
        executions: [
          {
            status: 'failed',
            failureCode: 'insufficient_funds',
            failureMessage: 'The account does not hold the amount.',
          },
        ],
      },
    });
  });

  it('never runs if it is cancelled before', async () => {
    const { from, order, read } = await later('1000', ONCE);

    const cancelled = await service.cancelOrder(ada, { accountId: from, orderId: order.id });
    await run(order);

    expect(cancelled).toMatchObject({ status: 'cancelled', placedBy: ada.actor, cancelledBy: ada.actor });
    expect(order).not.toHaveProperty('cancelledBy');
    expect(statesOf(await read())).toEqual([[1, 'cancelled']]);
    expect(await balanceOf(from)).toBe(1_000);
    expect(await reasonOf(service.cancelOrder(ada, { accountId: from, orderId: order.id }))).toBe(
      'order_not_cancellable',
    );
  });

  it('is either run or cancelled if both happen at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { from, order, read } = await later('1000', ONCE);
      const name = { accountId: from, orderId: order.id };

      const [, cancelling] = await Promise.all([run(order), reasonOf(service.cancelOrder(ada, name))]);

      const after = await read();
      const ran = after.status === 'completed';
      expect(cancelling).toBe(ran ? 'order_not_cancellable' : undefined);
      expect(statesOf(after)).toEqual([[1, ran ? 'completed' : 'cancelled']]);
      expect(await balanceOf(from)).toBe(ran ? 900 : 1_000);
    }
  });
});

describe('a run whose claim another worker has taken over', () => {
  it('is paid once, by the later claim', async () => {
    const { from, order, read } = await later('1000', ONCE);
    const claims = [await claimOf(dueOf(order)), await claimOf(dueOf(order))];

    await runOrder(orders, claims[0]!);
    expect(await balanceOf(from)).toBe(1_000);
    await Promise.all(claims.map((claim) => runOrder(orders, claim)));

    expect(statesOf(await read())).toEqual([[1, 'completed']]);
    expect(await balanceOf(from)).toBe(900);
  });
});

describe('a recurring order', () => {
  it('has its next run by its anchor, at the end of a shorter month', async () => {
    const { from, order, read } = await later('1000');

    await run(order);
    await run(await read());

    expect(statesOf(await read())).toEqual([
      [1, 'completed'],
      [2, 'completed'],
      [3, 'scheduled'],
    ]);
    expect((await read()).edges.executions?.map(({ scheduledAt }) => scheduledAt?.slice(0, 16))).toEqual([
      '2099-01-31T08:00',
      '2099-02-28T08:00',
      '2099-03-31T08:00',
    ]);
    expect((await read()).status).toBe('active');
    expect(await balanceOf(from)).toBe(800);
  });

  it('is completed by its last run', async () => {
    const { order, read } = await later('1000', { stopAt: '2099-02-28T09:00:00+01:00' });

    await run(order);
    await run(await read());

    expect(await read()).toMatchObject({ status: 'completed' });
    expect(statesOf(await read())).toEqual([
      [1, 'completed'],
      [2, 'completed'],
    ]);
  });

  it('runs up to and including its stop if its times have more digits than the database stores', async () => {
    const at = { startAt: '2099-01-31T09:00:00.1234567+01:00', stopAt: '2099-02-28T09:00:00.1234567+01:00' };
    const { order, read } = await later('1000', at);

    await run(order);
    await run(await read());

    expect(await read()).toMatchObject({ status: 'completed', startAt: '2099-01-31T08:00:00.123456Z' });
    expect(statesOf(await read())).toEqual([
      [1, 'completed'],
      [2, 'completed'],
    ]);
  });

  it('goes on after two failed runs in a row and fails with the third', async () => {
    const { from, order, read } = await later('0');

    await run(order);
    await run(await read());
    expect((await read()).status).toBe('active');
    await service.fundAccount(ada, { accountId: from, amount: '100' as TransferAmount });
    await run(await read());
    for (let failed = 0; failed < 3; failed += 1) await run(await read());

    expect((await read()).status).toBe('failed');
    expect(statesOf(await read())?.map(([, status]) => status)).toEqual([
      'failed',
      'failed',
      'completed',
      'failed',
      'failed',
      'failed',
    ]);
  });

  it('makes up one of its missed runs and has its next run in the future', async () => {
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

  it('has no scheduled run if it is cancelled while it runs', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { from, order, read } = await later('1000');

      await Promise.all([run(order), service.cancelOrder(ada, { accountId: from, orderId: order.id })]);

      const after = await read();
      expect(after.status).toBe('cancelled');
      expect(statesOf(after)?.map(([, status]) => status)).not.toContain('scheduled');
    }
  });
});
