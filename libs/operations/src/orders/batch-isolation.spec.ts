import type { AccountId, Order, OrderWish, RecipientId, Scope, TransferAmount, UserId, WorkspaceId } from '@banking/domain'; // prettier-ignore
import { openBooks, verifyBooks } from '@banking/ledger';
import type { Claim } from '@banking/payouts';
import { APP_ROLE, Database, SCHEMA } from '@banking/postgres';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '../rates/demo-rate-source.js';
import { demoWorld, wordOf } from '../testing/worlds.js';
import { verifyPayments } from '../verify-payments.js';
import { OrderDesk } from './order-desk.js';
import { OrderLane } from './order-lane.js';
import { postOrders } from './post-orders.js';

type Member = Scope & { readonly workspaceId: WorkspaceId; readonly actor: UserId };

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: LedgerBankingService;
let ada: Member;
let eve: Member;

beforeAll(async () => {
  world = await demoWorld();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES });
  const workspace = (name: string) => world.demo.workspaces[name] as WorkspaceId;
  ada = { actor: world.demo.users['ada@northwind.example'] as UserId, workspaceId: workspace('Northwind Trading') };
  eve = { actor: world.demo.users['eve@southwind.example'] as UserId, workspaceId: workspace('Southwind Imports') };
});
afterAll(() => world.close());
afterEach(async () => {
  const all = Object.values(world.demo.workspaces);
  expect((await verifyBooks(world.database, all)).findings).toEqual([]);
  expect(await verifyPayments(world.database, all)).toEqual([]);
});

async function payer(scope = ada, product = 1): Promise<{ from: AccountId; recipientID: RecipientId }> {
  const open = async (amount: string) => {
    const { resource } = await service.openAccount(scope, { productID: product as never });
    if (amount !== '0') await service.fundAccount(scope, { accountId: resource.id, amount: amount as TransferAmount });
    return resource;
  };
  const [from, to] = [await open('1000'), await open('0')];
  const { resource } = await service.addInternalRecipient(scope, { accountCode: to.code ?? '' });
  return { from: from.id, recipientID: resource.id };
}
const pay = ({ from, recipientID }: Awaited<ReturnType<typeof payer>>, more: Partial<OrderWish> = {}): OrderWish => ({ accountId: from, recipientID, amount: '100' as TransferAmount, type: 'instant', ...more }); // prettier-ignore
const balanceOf = async (accountId: AccountId, scope = ada) =>
  (await service.getAccount(scope, { accountId })).edges.balances[0]?.amount as unknown;

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

describe('Given two processes that place orders with the same references', () => {
  let theirs: Database;
  beforeAll(async () => {
    theirs = await Database.open({ connection: world.connection, role: APP_ROLE, schema: SCHEMA });
  });
  afterAll(() => theirs.end());

  /** Until so many sessions wait for a lock. */
  async function waiting(count: number): Promise<void> {
    const read = async () => {
      const { rows } = await world.owner.query<{ count: bigint }>(
        `select pg_stat_clear_snapshot(), count(*) as count from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return Number(rows[0]?.count);
    };
    while ((await read()) < count);
  }
  const deadlocks = async () => {
    const { rows } = await world.owner.query<{ deadlocks: bigint }>(
      'select pg_stat_clear_snapshot(), deadlocks from pg_stat_database where datname = current_database()',
    );
    return rows[0]?.deadlocks;
  };

  it('When both batches name them in opposite order, Then each reference has one order, and nothing deadlocks', async () => {
    const desks = [new OrderDesk(world.books, DEMO_RATES), new OrderDesk(openBooks(theirs), DEMO_RATES)];
    const payers = [await payer(), await payer()];
    const references = Array.from({ length: 9 }, (_, index) => `RACE-${index}`);
    const before = await deadlocks();
    // Another session has the middle one, so that both batches stop half-way.
    await world.owner.query('begin');
    await world.owner.query(`select set_config('app.workspaces', '{${ada.workspaceId}}', true)`);
    await world.owner.query(
      `insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status, external_reference)
       values ($1, $2, $3, 1, 'instant', 'completed', 'RACE-4')`,
      [ada.workspaceId, payers[0]!.from, payers[0]!.recipientID],
    );

    const placing = Promise.all(
      [references, [...references].reverse()].flatMap(
        (list, at) =>
        list.map((externalReference) => wordOf(desks[at]!.place(ada, pay(payers[at]!, { externalReference, amount: '1' as TransferAmount }), {}))), // prettier-ignore
      ),
    );
    await waiting(2);
    await world.owner.query('rollback');
    const words = await placing;

    expect(words.filter((word) => word === undefined)).toHaveLength(9);
    expect(words.filter((word) => word === 'external_reference_reused')).toHaveLength(9);
    expect(await deadlocks()).toBe(before);
  });
});
