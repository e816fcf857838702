import type { AccountId, Order, RecipientId } from '@banking/domain';
import { API_ROLE, bind, RULE_VIOLATION, SQLSTATE, sqlStatement } from '@banking/postgres';
import { PlanProbe, sql } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { placedOrder, placeOrders } from '../testing/placed-order.js';

const OF_REFERENCES = sqlStatement(
  'spec.orders_of_references',
  'select o.id from unnest($1::bigint[], $2::text[]) u (w, reference) left join lateral order_of_reference(u.w, u.reference) o on true',
);

/** In this database transaction. */
const TRANSFERS_READ = sqlStatement<{ rows: number }>(
  'spec.transfers_read',
  `select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'transfer'`,
);

let given: OrderWorld;
let from: AccountId;
let other: AccountId;
let recipient: RecipientId;
let paid: Order;
let transactionId: number;

beforeAll(async () => {
  given = await orderWorld();
  const euro = (await given.service.listProducts({})).find(({ edges }) => edges.currency?.code === 'EUR')!.id;
  [from, other] = [await given.account(euro, '1000'), await given.account(euro, '1000')];
  recipient = await given.near(other);
  paid = (await given.service.placeOrder(given.ada, given.order(from, recipient))).resource;
  transactionId = paid.edges.executions![0]!.edges.transaction!.id;
});
afterAll(() => given.world.close());

const asApi = (text: string) =>
  given.world.database.as(API_ROLE).pipeline({ workspaces: [given.ada.workspaceId] }, [sql(text)]);

interface Placed {
  readonly accountId?: number;
  readonly recipientId?: number;
  readonly amount?: string;
  readonly status?: string;
  /** Of its first run. Without one it has no run. */
  readonly execution?: { readonly transactionId?: number; readonly sequence?: number; readonly orderId?: number };
}

/** Calls the function with an order, whose id is new. Returns how many transfers it reads. */
async function place({
  accountId = from,
  recipientId = recipient,
  amount = '100',
  status = 'completed',
  execution,
}: Placed) {
  const { world, ada } = given;
  const { workspaceId } = ada;
  const { rows } = await world.owner.query<{ id: number; run: number }>(
    `select nextval('customer_order_id_seq')::int as id, nextval('execution_id_seq')::int as run`,
  );
  const { id, run } = rows[0]!;
  const order = placedOrder({ workspaceId, id, accountId, recipientId, amount, status });
  const runs = execution === undefined ? [] : [{ workspaceId, id: run, orderId: id, ...execution }];
  const [[before], , [after]] = await world.database
    .as(API_ROLE)
    .pipeline({ workspaces: [workspaceId] }, [
      bind(TRANSFERS_READ),
      sql(placeOrders([order], ...runs)),
      bind(TRANSFERS_READ),
    ] as const);
  return after!.rows - before!.rows;
}

describe('the role of the API', () => {
  it.each([
    [
      'an order',
      'insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status) values (1, 1, 1, 1, $$instant$$, $$active$$)',
    ],
    [
      'a run',
      'insert into execution (workspace_id, order_id, sequence, status, scheduled_at) values (1, 1, 9, $$scheduled$$, now())',
    ],
    ['the use of a quote', 'insert into quote_use (workspace_id, quote_id, order_id) values (1, 1, 1)'],
  ])('cannot insert %s', async (_what, text) => {
    await expect(asApi(text)).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
  });
});

describe('orders that are placed', () => {
  it.each<[string, () => Placed]>([
    ['without a run', () => ({})],
    ['as completed with a run that is due', () => ({ execution: {} })],
    ['as active with a run that took place', () => ({ status: 'active', execution: { transactionId } })],
    ['with a second run', () => ({ execution: { transactionId, sequence: 2 } })],
    ['with a run of another order', () => ({ execution: { transactionId, orderId: paid.id } })],
    ['with a payment that does not exist', () => ({ execution: { transactionId: 999_999_999 } })],
    ['with the payment of another amount', () => ({ amount: '101', execution: { transactionId } })],
    ['with the payment of another account', () => ({ accountId: other, execution: { transactionId } })],
    ['with the payment of another recipient', () => ({ recipientId: recipient + 1, execution: { transactionId } })],
  ])('are refused %s', async (_what, placed) => {
    await expect(place(placed())).rejects.toMatchObject({ code: RULE_VIOLATION.wrongOrder });
  });

  it.each([
    ['a first run at no time', 'now', 'infinity'],
    ['a schedule from no time on', 'infinity', 'now'],
  ])('are refused with %s', async (_what, startAt, scheduledAt) => {
    const { workspaceId } = given.ada;
    const id = 9_100_000;
    const scheduled = placedOrder({
      workspaceId,
      id,
      accountId: from,
      recipientId: recipient,
      type: 'scheduled',
      startAt,
    });

    await expect(asApi(placeOrders([scheduled], { workspaceId, id, orderId: id, scheduledAt }))).rejects.toMatchObject({
      code: SQLSTATE.checkViolation,
      message: 'a time of an order is infinite',
    });
  });

  it.each([
    ['begin at another time than they say', { start_at: '2040-01-01T00:00:00Z' }],
    ['are paused', { paused_at: 'now', pause_reason: 'placer_without_role' }],
    ['were resumed', { resumed_at: 'now' }],
  ])('are refused if they %s', async (_what, columns) => {
    const { workspaceId } = given.ada;
    const id = 9_100_002;
    const later = { type: 'scheduled', startAt: '2039-01-01T00:00:00Z' } as const;
    const scheduled = placedOrder({ workspaceId, id, accountId: from, recipientId: recipient, ...later });
    const run = { workspaceId, id, orderId: id };

    await expect(asApi(placeOrders([{ ...scheduled, ...columns }], run))).rejects.toMatchObject({
      code: RULE_VIOLATION.wrongOrder,
    });
    await asApi(placeOrders([scheduled], run));
    await given.world.owner.query(
      `set session_replication_role = replica; delete from customer_order where id = ${id}; delete from execution where id = ${id};
       delete from work where subject_id = ${id}; reset session_replication_role`,
    );
  });

  it('are not written with a run of an order that is not there', async () => {
    const run = { workspaceId: given.ada.workspaceId, id: 9_100_001, orderId: 9_100_001, sequence: 2 };

    await expect(asApi(placeOrders([], run))).rejects.toMatchObject({
      code: RULE_VIOLATION.wrongOrder,
    });
  });

  it('are written by processes of the release before and of the next one, while the next one adds a column', async () => {
    const { world, service, ada } = given;
    const { workspaceId } = ada;
    // Each session of this process has planned its statements before.
    await service.placeOrder(ada, given.order(from, recipient));
    await world.owner.query(
      'alter table customer_order add column later text check (char_length(later) between 1 and 3)',
    );

    await service.placeOrder(ada, given.order(from, recipient));
    const id = 9_100_003;
    const next = (later: string) =>
      placeOrders([{ ...placedOrder({ workspaceId, id, accountId: from, recipientId: recipient }), later }], {
        ...{ workspaceId, id, orderId: id },
      });
    await expect(asApi(next('long'))).rejects.toMatchObject({ constraint: 'customer_order_later_check' });
    await asApi(next('new'));

    const { rows } = await world.owner.query('select later from customer_order order by id desc limit 2');
    expect(rows).toEqual([{ later: 'new' }, { later: null }]);
    await world.owner.query('alter table customer_order drop column later');
  });

  it('are noted in the order of their ids, whatever their references', async () => {
    const { workspaceId } = given.ada;
    const [first, second] = [9_100_004, 9_100_005];
    const orderOf = (id: number, externalReference: string) =>
      placedOrder({ workspaceId, id, accountId: from, recipientId: recipient, externalReference });
    const runOf = (id: number) => ({ workspaceId, id, orderId: id });

    await asApi(placeOrders([orderOf(first, 'Z'), orderOf(second, 'A')], runOf(first), runOf(second)));

    const { rows } = await given.world.owner.query(
      `select resource_ids::int[] as ids from change_outbox where resource_type = 'order' order by id desc limit 1`,
    );
    expect(rows).toEqual([{ ids: [first, second] }]);
  });

  it('set each column but those of a pause, and no other: the release before leaves out a later one', async () => {
    const { rows } = await given.world.owner.query<{ name: string; mayBeNull: boolean }>(
      `select attname as name, not attnotnull as "mayBeNull" from pg_attribute
       where attrelid = 'customer_order'::regclass and attnum > 0 and not attisdropped`,
    );
    const PAUSE = ['paused_at', 'pause_reason', 'resumed_at'];

    const placed = [...Object.keys(placedOrder({ workspaceId: 1 })), 'placed_by'];
    expect(rows.map(({ name }) => name).sort()).toEqual([...placed, ...PAUSE].sort());
    expect(rows.filter(({ name, mayBeNull }) => PAUSE.includes(name) && !mayBeNull)).toEqual([]);
  });

  it('are refused with a payment that an order has already', async () => {
    await expect(place({ execution: { transactionId } })).rejects.toMatchObject({
      code: SQLSTATE.uniqueViolation,
      constraint: 'execution_by_transaction',
    });
  });

  it('find their payments by the transaction, and read no others of the workspace', async () => {
    const planted = (first: number, count: number) =>
      given.world.owner.query(
        `begin; set local session_replication_role = replica;
         insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, recipient_id, recipient_digest,
           account_version, balance_after)
         select ${given.ada.workspaceId}, n, ${from}, 978, 'debit', 100, 'internal', ${recipient}, decode(repeat('a', 64), 'hex'), n, 0
         from generate_series(${first}, ${first + count - 1}) n;
         commit`,
      );
    await planted(9_000_000, 1_000);
    await given.world.owner.query('analyze transfer');

    expect(await place({ execution: { transactionId: 9_000_500 } })).toBeLessThan(10);
  });
});

it('finds the orders of references, and reads no others of the workspace', async () => {
  const { world, ada } = given;
  const { workspaceId } = ada;
  const probes: PlanProbe[] = [];
  const insert = (workspaces: string, count: number) =>
    world.owner.query(
      `begin; set local session_replication_role = replica;
       insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status)
       select ${workspaces}, ${from}, ${recipient}, 100, 'instant', 'completed' from generate_series(1, ${count}) n;
       commit`,
    );
  // Plans from when the table had few pages, and the workspace few of its rows.
  for (const count of [20, 30, 40, 50]) {
    await insert('100000 + n % 10', count);
    await world.owner.query('analyze customer_order');
    probes.push(await PlanProbe.open(world, OF_REFERENCES, 'bigint[], text[]'));
    await probes.at(-1)!.cost(`array[${workspaceId}], array['R']`, [workspaceId]);
  }

  await insert(String(workspaceId), 5_000);

  for (const probe of probes) {
    const { buffers, filtered } = await probe.cost(
      `array_fill(${workspaceId}::bigint, array[20]), array[null, null] || array_fill('R'::text, array[18])`,
      [workspaceId],
    );
    expect(buffers + filtered).toBeLessThan(100);
    await probe.close();
  }
});
