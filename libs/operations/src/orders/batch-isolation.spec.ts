import type { AccountId, Order, OrderWish, RecipientId, TransferAmount } from '@banking/domain';
import type { Claim } from '@banking/payouts';
import type { Database } from '@banking/postgres';
import { DEMO_RATES } from '../rates/demo-rate-source.js';
import { orderWorld } from '../testing/order-world.js';
import { wordOf } from '../testing/worlds.js';
import { OrderDesk } from './order-desk.js';
import { OrderLane } from './order-lane.js';
import { postOrders } from './post-orders.js';

let given: Awaited<ReturnType<typeof orderWorld>>;
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
const pay = ({ from, recipientID }: Payer, more: Partial<OrderWish> = {}) => given.order(from, recipientID, more);

/**
 * A desk whose batches are told before they are posted, once they are prepared, and which remembers what the database made of each of its
 * transactions.
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
  const lane = new OrderLane(async (orders, waits) => {
    if (sizes.length === 0) await before();
    sizes.push(orders.length);
    return postOrders(books, orders, waits);
  });
  return { desk: new OrderDesk(world.books, DEMO_RATES, { lane }), fates, sizes };
}

describe('Given two orders of a batch with one external reference', () => {
  it('When the batch is posted, Then the first has it, the second is refused, and the other tenant’s order goes with them', async () => {
    const [one, two, other] = [await payer(), await payer(), await payer(eve)];
    const { desk, fates, sizes } = watched();
    const named = { externalReference: 'INVOICE-1' };

    const words = await Promise.all([
      wordOf(desk.place(ada, pay(one, named), {})),
      wordOf(desk.place(ada, pay(two, named), {})),
      wordOf(desk.place(eve, pay(other, named), {})),
    ]);

    expect(words).toEqual([undefined, 'external_reference_reused', undefined]);
    expect([sizes, fates]).toEqual([[3], ['committed']]);
  });

  it('When the first of them is refused, Then the second has the reference', async () => {
    const [one, two] = [await payer(), await payer()];
    const { desk, fates } = watched();
    const named = { externalReference: 'INVOICE-2' };

    const words = await Promise.all([
      wordOf(desk.place(ada, pay(one, { ...named, amount: '5000' as TransferAmount }), {})),
      wordOf(desk.place(ada, pay(two, named), {})),
    ]);

    expect(words).toEqual(['insufficient_funds', undefined]);
    expect(fates).toEqual(['committed']);
  });

  it('When another process has taken it meanwhile, Then that is read behind the locks', async () => {
    const [one, two, other] = [await payer(), await payer(), await payer(eve)];
    const named = { externalReference: 'INVOICE-3' };
    const { desk, fates } = watched(() => service.placeOrder(ada, pay(two, named)));

    const words = await Promise.all([
      wordOf(desk.place(ada, pay(one, named), {})),
      wordOf(desk.place(eve, pay(other), {})),
    ]);

    expect(words).toEqual(['external_reference_reused', undefined]);
    expect(fates).toEqual(['committed']);
  });
});

describe('Given two orders of a batch at one quote', () => {
  it('When the batch is posted, Then one is carried out at it, and the other is refused', async () => {
    const [one, other] = [await payer(), await payer(eve)];
    const quote = await service.createQuote(ada, { accountID: one.from, recipientID: one.recipientID, amount: '100' as TransferAmount }); // prettier-ignore
    const { desk, fates, sizes } = watched();
    const atQuote = { quoteID: quote.resource.id };

    const words = await Promise.all([
      wordOf(desk.place(ada, pay(one, atQuote), {})),
      wordOf(desk.place(ada, pay(one, atQuote), {})),
      wordOf(desk.place(eve, pay(other), {})),
    ]);

    expect(words).toEqual([undefined, 'quote_used', undefined]);
    expect([sizes, fates]).toEqual([[3], ['committed']]);
  });

  it('When the quote expires once the orders are prepared, Then its order alone is refused', async () => {
    const [one, other] = [await payer(), await payer(eve)];
    const quote = await service.createQuote(ada, { accountID: one.from, recipientID: one.recipientID, amount: '100' as TransferAmount }); // prettier-ignore
    const expire = () =>
      world.owner.query(
        `set session_replication_role = replica;
         update quote set created_at = now() - interval '1 hour', expires_at = now() - interval '1 s' where id = ${quote.resource.id};
         set session_replication_role = origin`,
      );
    const { desk, fates } = watched(expire);

    const words = await Promise.all([
      wordOf(desk.place(ada, pay(one, { quoteID: quote.resource.id }), {})),
      wordOf(desk.place(eve, pay(other), {})),
    ]);

    expect(words).toEqual(['quote_expired', undefined]);
    expect(fates).toEqual(['committed']);
  });
});

describe('Given runs in a batch', () => {
  const later = async (scope = ada) => {
    const of = await payer(scope);
    const { resource } = await service.placeOrder(scope, pay(of, { type: 'scheduled', startAt: '2099-01-31T09:00:00Z' })); // prettier-ignore
    const name = { accountId: of.from, orderId: resource.id };
    return { ...of, order: resource, cancel: () => service.cancelOrder(scope, name), read: () => service.getOrder(scope, name) }; // prettier-ignore
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

  it('When one is cancelled and the claim of another is lost, Then the batch is written at once without them', async () => {
    const [cancelled, lost, good, other] = [await later(), await later(), await later(), await payer(eve)];
    const claims = [await claimOf(cancelled.order), await claimOf(lost.order), await claimOf(good.order)];
    await claimOf(lost.order);
    const { desk, fates } = watched(() => cancelled.cancel());

    await Promise.all([...claims.map((claim) => desk.run(claim)), desk.place(eve, pay(other), {})]);

    expect(fates).not.toContain('rejected');
    const statuses = await Promise.all([cancelled, lost, good].map(async ({ read }) => (await read()).status));
    expect(statuses).toEqual(['cancelled', 'active', 'completed']);
    expect(await Promise.all([cancelled, lost, good].map(({ from }) => balanceOf(from)))).toEqual([1_000, 1_000, 900]);
    expect(await balanceOf(other.from, eve)).toBe(900);
  });

  it('When another session has locked its order, Then it leaves the batch and runs afterwards', async () => {
    const [run, other] = [await later(), await payer(eve)];
    const claim = await claimOf(run.order);
    await world.owner.query('begin');
    await world.owner.query('select from customer_order where id = $1 for update', [run.order.id]);
    const { desk, fates } = watched();

    const running = desk.run(claim);
    await desk.place(eve, pay(other), {});
    expect((await run.read()).status).toBe('active');
    await world.owner.query('commit');
    await running;

    expect(fates).not.toContain('rejected');
    expect((await run.read()).status).toBe('completed');
  });
});
