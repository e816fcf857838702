import * as fc from 'fast-check';
import type { AccountId, Execution, Order, OrderId, OrderPage, Scope, WorkspaceId } from '@banking/domain';
import { SCHEMA } from '@banking/postgres';
import { analyzeTables, reasonOf } from '@banking/postgres/testing';
import { Explaining, pageSentBy } from '../testing/aged-workspaces.js';
import { expectWellFormed } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';

/** Executions of the daily order. */
const COUNT = 1_203;
let { world, service } = {} as OrderWorld;
let scope: Scope;
let accountId: AccountId;
let daily: OrderId;
let early: Explaining;

const page = (query: { limit?: number; cursor?: string } = {}, orderId = daily) =>
  service.getOrder(scope, { accountId, orderId, ...query });
const runsOf = ({ edges }: OrderPage): readonly Execution[] => edges.executions ?? [];
const orderOf = ({ next: _, ...order }: OrderPage): Order => order;

/** An order that has run so many times, one time in three without success, and is active. */
async function orderWith(count: number): Promise<OrderId> {
  const { rows } = await world.owner.query<{ id: bigint }>(
    `with made as (
       insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status, start_at, anchor, repeat_unit, repeat_value)
       select $1, $2, r.id, 1, 'recurring', 'active', '2020-01-01Z', '2020-01-01T00:00:00Z', 'daily', 1
       from recipient r where r.workspace_id = $1 order by r.id limit 1
       returning workspace_id, id),
     ran as (
       insert into execution (workspace_id, order_id, sequence, status, failure_code, scheduled_at, executed_at, transaction_id)
       select m.workspace_id, m.id, 2 * n, case when n % 3 = 0 then 'failed' else 'completed' end,
              case when n % 3 = 0 then 'insufficient_funds' end, timestamptz '2020-01-01Z' + n * interval '1 day',
              case when n % 3 <> 0 then now() end, case when n % 3 <> 0 then 1000000 * m.id + n end
       from made m, generate_series(1, $3::int) n)
     select id from made`,
    [scope.workspaceId, accountId, count],
  );
  return Number(rows[0]!.id) as OrderId;
}

beforeAll(async () => {
  ({ world, service } = await orderWorld());
  scope = { workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId };
  accountId = world.demo.accounts['Northwind Trading USD'] as AccountId;
  await world.owner.query('set session_replication_role = replica');
  daily = await orderWith(3);
  early = await Explaining.open(world);
  await explained(early);
  daily = await orderWith(COUNT);
});
afterAll(async () => {
  await early.close();
  await world.close();
});

async function walk(limit: number, onPage: () => Promise<unknown> = async () => undefined) {
  const pages: (readonly Execution[])[] = [];
  let cursor: string | undefined;
  do {
    const read = await page({ limit, ...(cursor !== undefined && { cursor }) });
    pages.push(runsOf(read));
    cursor = read.next;
    await onPage();
  } while (cursor !== undefined);
  return pages;
}

const addLater = (sequence: number) =>
  world.owner.query(
    `insert into execution (workspace_id, order_id, sequence, status, scheduled_at) values ($1, $2, $3, 'scheduled', now())`,
    [scope.workspaceId, daily, sequence],
  );

/** The pages and rows that the statements of the first and the second page touch, and of the first one without an account. */
async function explained(explaining: Explaining) {
  const first = await page({ limit: 2 });
  const reads = [
    () => page({ limit: 2 }),
    () => page({ limit: 2, cursor: first.next! }),
    () => service.getOrderById(scope, { orderId: daily, limit: 2 }),
  ];
  const touched = [];
  for (const read of reads) {
    const [settings, bound] = await pageSentBy(world.database, read);
    touched.push(await explaining.explain(scope.workspaceId!, settings, bound));
  }
  return touched;
}

describe('an order with many executions', () => {
  it('has the latest executions in the order of their sequence, and a cursor for the others', async () => {
    const read = await page();

    expectWellFormed(orderOf(read));
    const sequences = runsOf(read).map(({ sequence }) => sequence);
    expect(sequences).toEqual(Array.from({ length: 100 }, (_, index) => 2 * (COUNT - 99 + index)));
    expect(read.next).toEqual(expect.any(String));
  });

  it('is read page by page while it runs on, without skipped or repeated executions', async () => {
    let later = 10 * COUNT;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 20, max: 500 }), async (limit) => {
        const { rows } = await world.owner.query<{ sequence: number }>(
          'select sequence from execution where workspace_id = $1 and order_id = $2 order by sequence',
          [scope.workspaceId, daily],
        );

        const pages = await walk(limit, () => addLater((later += 1)));

        expect(pages.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
        const walked = pages.reverse().flat();
        expect(walked.map(({ sequence }) => sequence)).toEqual(rows.map(({ sequence }) => sequence));
      }),
      { numRuns: 10 },
    );
    const [one, other] = [orderOf(await page({ limit: 1 })), orderOf(await page({ limit: 500 }))];
    expect({ ...one, edges: { ...one.edges, executions: [] } }).toEqual({
      ...other,
      edges: { ...other.edges, executions: [] },
    });
  });

  it('has no cursor if the page holds all executions', async () => {
    const few = await orderWith(7);
    const whole = await page({ limit: 500 }, few);

    expect(whole.next).toBeUndefined();
    expect(runsOf(whole)).toHaveLength(7);
    expect(await page({ limit: 7 }, few)).toEqual(whole);
    expect(JSON.stringify(await page({}, few))).toBe(JSON.stringify(whole));
    expect((await page({ limit: 6 }, few)).next).toBeDefined();
  });

  it.each([0, -1, 1.5, 501, Number.NaN])('refuses the limit %d', async (limit) => {
    expect(await reasonOf(page({ limit }))).toBe('limit_invalid');
  });

  it('refuses a cursor of another order, account, workspace or list, and a forged one', async () => {
    const other = await orderWith(7);
    const { next: cursor = '' } = await page({ limit: 1 });
    const { next: theirs = '' } = await page({ limit: 1 }, other);
    const { next: ofList = '' } = await service.listOrders(scope, { limit: 1 });
    const elsewhere: Scope = { workspaceId: world.demo.workspaces['Southwind Imports'] as WorkspaceId };
    const away = world.demo.accounts['Northwind Trading EUR'] as AccountId;

    for (const wrong of [theirs, ofList, 'AAAA', '', `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`]) {
      expect(await reasonOf(page({ cursor: wrong }))).toBe('cursor_invalid');
    }
    expect(await reasonOf(service.getOrder(elsewhere, { accountId, orderId: daily, cursor }))).toBe('cursor_invalid');
    expect(await reasonOf(service.getOrder(scope, { accountId: away, orderId: daily, cursor }))).toBe('cursor_invalid');
    expect(await reasonOf(service.listOrders(scope, { cursor }))).toBe('cursor_invalid');
    expect(runsOf(await page({ limit: 5, cursor }))).toHaveLength(5);
  });

  it('is read without its account, in its workspace only', async () => {
    const ofAccount = await page({ limit: 5 });
    const read = (query: { limit?: number; cursor?: string } = {}, of = scope) =>
      service.getOrderById(of, { orderId: daily, ...query });

    const { next: cursor = '', ...order } = await read({ limit: 5 });

    expect(order).toEqual(orderOf(ofAccount));
    expect(order.edges.account?.id).toBe(accountId);
    expect(orderOf(await read())).toEqual(orderOf(await page()));
    expect(runsOf(await read({ limit: 5, cursor }))).toEqual(runsOf(await page({ limit: 5, cursor: ofAccount.next! })));
    // A cursor belongs to one path.
    expect(await reasonOf(page({ cursor }))).toBe('cursor_invalid');
    expect(await reasonOf(read({ cursor: ofAccount.next! }))).toBe('cursor_invalid');
    const elsewhere: Scope = { workspaceId: world.demo.workspaces['Southwind Imports'] as WorkspaceId };
    expect(await reasonOf(read({}, elsewhere))).toBe('order_not_found');
    expect(await reasonOf(service.getOrderById(scope, { orderId: 999_999_999 as OrderId }))).toBe('order_not_found');
  });

  it('is returned with the latest page when it is cancelled', async () => {
    const order = await orderWith(150);
    const cancelled = await service.cancelOrder(scope, { accountId, orderId: order });

    expect(cancelled.edges.executions?.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 100 }, (_, index) => 2 * (51 + index)),
    );
    expect(cancelled).toEqual(orderOf(await page({}, order)));
  });

  it('is read with a bounded part of its executions, with table statistics and without', async () => {
    await orderWith(20_000);
    daily = await orderWith(20_000);
    for (const { rows, buffers } of await explained(early)) {
      expect(rows).toBeLessThan(200);
      expect(buffers).toBeLessThan(300);
    }
    await analyzeTables(world.connection, SCHEMA);
    const late = await Explaining.open(world);
    for (const { rows, buffers } of await explained(late)) {
      expect(rows).toBeLessThan(200);
      expect(buffers).toBeLessThan(300);
    }
    await late.close();
  });
});
