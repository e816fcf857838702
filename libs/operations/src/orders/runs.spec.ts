import type { AccountId, Order, PlaceOrderInput, RecipientId, TransferAmount } from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import type { Database } from '@banking/postgres';
import { reasonOf } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import type { Claim } from '@banking/work-queue';
import { ReferenceData } from '../reference/reference.js';
import { expectWellFormed, orderWorld, type OrderWorld } from '../testing/order-world.js';
import { OrderBatcher, OrderService } from './order-service.js';
import { placeOrder } from './place-order.js';
import { postOrders } from './post-orders.js';
import { RememberedAccounts } from './remembered-accounts.js';
import { runOrder } from './run-order.js';

let given: OrderWorld;
let { world, service, ada, account, near, balanceOf, eve } = {} as OrderWorld;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, service, ada, account, near, balanceOf, eve } = given);
});

afterAll(() => given.expectInOrder().finally(() => given.world.close()));

describe('runs', () => {
  let orders: OrderService;

  beforeAll(async () => {
    orders = new OrderService(world.books, DEMO_RATES, { rails: SANDBOX_ROUTING });
  });

  /** Claims the work of an execution as a worker does, before it is due. */
  async function claimOf(executionId: number): Promise<Claim> {
    const { rows } = await world.owner.query<{ fence: bigint }>(
      `update work set leased_until = clock_timestamp() + interval '30 s', fence = fence + 1
     where kind = 'execution' and subject_id = $1 returning fence`,
      [executionId],
    );
    const { workspaceId } = ada;
    return {
      workspaceId,
      kind: 'execution',
      subjectId: executionId,
      rail: '',
      fence: rows[0]?.fence ?? 0n,
      tries: 1,
      delays: 0,
    };
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
});

interface Payer {
  readonly from: AccountId;
  readonly recipientID: RecipientId;
}

async function payer(scope = ada): Promise<Payer> {
  return { from: await account(1, '1000', scope), recipientID: await near(await account(1, '0', scope), scope, scope) };
}

const pay = ({ from, recipientID }: Payer, more: Partial<PlaceOrderInput> = {}) => given.order(from, recipientID, more);

/**
 * An order service that records the size of each batch and the result of each of its database transactions.
 *
 * @param before runs after the orders are prepared and before the first batch is posted
 */
function watched(before: () => Promise<unknown> = async () => undefined) {
  const fates: string[] = [];
  const sizes: number[] = [];
  const { database } = world;
  const watchedDatabase = new Proxy(database, {
    get: (target, name) =>
      name !== 'transaction'
        ? (target[name as keyof Database] as object)
        : async (...args: Parameters<Database['transaction']>) => {
            try {
              const result = await target.transaction(...args);
              fates.push('committed');
              return result;
            } catch (error) {
              fates.push('rejected');
              throw error;
            }
          },
  });
  const books = { ...world.books, database: watchedDatabase };
  const batcher = new OrderBatcher(async (batch, waitsForLocks) => {
    if (sizes.length === 0) await before();
    sizes.push(batch.length);
    return postOrders(
      { books, reference: new ReferenceData(world.database), remembered: new RememberedAccounts() },
      batch,
      waitsForLocks,
    );
  });
  return { orders: new OrderService(world.books, DEMO_RATES, { batcher }), fates, sizes };
}

describe('two orders of a batch with one external reference', () => {
  it('places the first and refuses the second, in one database transaction with another tenant’s order', async () => {
    const [one, two, other] = [await payer(), await payer(), await payer(eve)];
    const { orders, fates, sizes } = watched();
    const named = { externalReference: 'INVOICE-1' };

    const reasons = await Promise.all([
      reasonOf(placeOrder(orders, ada, pay(one, named), {})),
      reasonOf(placeOrder(orders, ada, pay(two, named), {})),
      reasonOf(placeOrder(orders, eve, pay(other, named), {})),
    ]);

    expect(reasons).toEqual([undefined, 'external_reference_reused', undefined]);
    expect([sizes, fates]).toEqual([[3], ['committed']]);
  });

  it('places the second if the first is refused', async () => {
    const [one, two] = [await payer(), await payer()];
    const { orders, fates } = watched();
    const named = { externalReference: 'INVOICE-2' };

    const reasons = await Promise.all([
      reasonOf(placeOrder(orders, ada, pay(one, { ...named, amount: '5000' as TransferAmount }), {})),
      reasonOf(placeOrder(orders, ada, pay(two, named), {})),
    ]);

    expect(reasons).toEqual(['insufficient_funds', undefined]);
    expect(fates).toEqual(['committed']);
  });

  it('refuses a reference that another process has taken since the order was prepared', async () => {
    const [one, two, other] = [await payer(), await payer(), await payer(eve)];
    const named = { externalReference: 'INVOICE-3' };
    const { orders, fates } = watched(() => service.placeOrder(ada, pay(two, named)));

    const reasons = await Promise.all([
      reasonOf(placeOrder(orders, ada, pay(one, named), {})),
      reasonOf(placeOrder(orders, eve, pay(other), {})),
    ]);

    expect(reasons).toEqual(['external_reference_reused', undefined]);
    expect(fates).toEqual(['committed']);
  });
});

describe('two orders of a batch at one quote', () => {
  it('places one and refuses the other', async () => {
    const [one, other] = [await payer(), await payer(eve)];
    const quote = await service.createQuote(ada, {
      accountID: one.from,
      recipientID: one.recipientID,
      amount: '100' as TransferAmount,
    });
    const { orders, fates, sizes } = watched();
    const atQuote = { quoteID: quote.resource.id };

    const reasons = await Promise.all([
      reasonOf(placeOrder(orders, ada, pay(one, atQuote), {})),
      reasonOf(placeOrder(orders, ada, pay(one, atQuote), {})),
      reasonOf(placeOrder(orders, eve, pay(other), {})),
    ]);

    expect(reasons).toEqual([undefined, 'quote_used', undefined]);
    expect([sizes, fates]).toEqual([[3], ['committed']]);
  });

  it('refuses only the order of a quote that has expired since the order was prepared', async () => {
    const [one, other] = [await payer(), await payer(eve)];
    const quote = await service.createQuote(ada, {
      accountID: one.from,
      recipientID: one.recipientID,
      amount: '100' as TransferAmount,
    });
    const expire = () =>
      world.owner.query(
        `set session_replication_role = replica;
         update quote set created_at = now() - interval '1 hour', expires_at = now() - interval '1 s' where id = ${quote.resource.id};
         set session_replication_role = origin`,
      );
    const { orders, fates } = watched(expire);

    const reasons = await Promise.all([
      reasonOf(placeOrder(orders, ada, pay(one, { quoteID: quote.resource.id }), {})),
      reasonOf(placeOrder(orders, eve, pay(other), {})),
    ]);

    expect(reasons).toEqual(['quote_expired', undefined]);
    expect(fates).toEqual(['committed']);
  });
});

describe('runs in a batch', () => {
  const later = async (scope = ada) => {
    const of = await payer(scope);
    const { resource } = await service.placeOrder(
      scope,
      pay(of, { type: 'scheduled', startAt: '2099-01-31T09:00:00Z' }),
    );
    const name = { accountId: of.from, orderId: resource.id };
    return {
      ...of,
      order: resource,
      cancel: () => service.cancelOrder(scope, name),
      read: () => service.getOrder(scope, name),
    };
  };
  const claimOf = async ({ edges }: Order, scope = ada): Promise<Claim> => {
    const subjectId = edges.executions![0]!.id;
    const { rows } = await world.owner.query<{ fence: bigint }>(
      `update work set leased_until = clock_timestamp() + interval '30 s', fence = fence + 1
       where kind = 'execution' and subject_id = $1 returning fence`,
      [subjectId],
    );
    return {
      workspaceId: scope.workspaceId,
      kind: 'execution',
      subjectId,
      rail: '',
      fence: rows[0]!.fence,
      tries: 1,
      delays: 0,
    };
  };

  it('leaves out a cancelled run and a run with a lost claim', async () => {
    const [cancelled, lost, good, other] = [await later(), await later(), await later(), await payer(eve)];
    const claims = [await claimOf(cancelled.order), await claimOf(lost.order), await claimOf(good.order)];
    await claimOf(lost.order);
    const { orders, fates } = watched(() => cancelled.cancel());

    await Promise.all([...claims.map((claim) => runOrder(orders, claim)), placeOrder(orders, eve, pay(other), {})]);

    expect(fates).not.toContain('rejected');
    const statuses = await Promise.all([cancelled, lost, good].map(async ({ read }) => (await read()).status));
    expect(statuses).toEqual(['cancelled', 'active', 'completed']);
    expect(await Promise.all([cancelled, lost, good].map(({ from }) => balanceOf(from)))).toEqual([1_000, 1_000, 900]);
    expect(await balanceOf(other.from, eve)).toBe(900);
  });

  it('runs later if another session has locked its order', async () => {
    const [run, other] = [await later(), await payer(eve)];
    const claim = await claimOf(run.order);
    await world.owner.query('begin');
    await world.owner.query('select from customer_order where id = $1 for update', [run.order.id]);
    const { orders, fates } = watched();
    const running = runOrder(orders, claim);
    await placeOrder(orders, eve, pay(other), {});
    expect((await run.read()).status).toBe('active');
    await world.owner.query('commit');
    await running;

    expect(fates).not.toContain('rejected');
    expect((await run.read()).status).toBe('completed');
  });
});
