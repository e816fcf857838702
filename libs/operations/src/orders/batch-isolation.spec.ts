import type { AccountId, Order, PlaceOrderInput, RecipientId, TransferAmount } from '@banking/domain';
import type { Claim } from '@banking/work-queue';
import type { Database } from '@banking/postgres';
import { DEMO_RATES } from '@banking/rates';
import { reasonOf } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { OrderBatcher, OrderService } from './order-service.js';
import { placeOrder } from './place-order.js';
import { postOrders } from './post-orders.js';
import { runOrder } from './run-order.js';
import { ReferenceData } from '../reference/reference.js';

let given: OrderWorld;
let { world, service, ada, eve, account, near, balanceOf } = {} as typeof given;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, service, ada, eve, account, near, balanceOf } = given);
});
afterAll(() => world.close());
afterEach(() => given.expectInOrder());

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
    return postOrders({ books, reference: new ReferenceData(world.database) }, batch, waitsForLocks);
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
    return { workspaceId: scope.workspaceId, kind: 'execution', subjectId, fence: rows[0]!.fence, tries: 1, delays: 0 };
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
