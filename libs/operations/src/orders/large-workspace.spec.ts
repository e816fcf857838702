import type { AccountId, ApprovalId, Order, RecipientId, TransferAmount, UserId } from '@banking/domain';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { openDatabase } from '@banking/postgres/testing';
import { openBooks } from '@banking/ledger';
import { Worker } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { type Member, orderWorld, type OrderWorld, recipientAbroad } from '../testing/order-world.js';
import { tablesReadMuch } from '../testing/rows-read.js';
import { workOf } from '../worker/start-banking-worker.js';

/**
 * Tables with what tells their rows apart. Half of the rows are of the large workspace, the others each of another one, so that a planner
 * that counts the condition on the workspace twice, as a query and row-level security state it, expects one row of each workspace.
 */
const TABLES = {
  approval: ['id', 'order_id'],
  approval_decision: ['approval_id'],
  approval_rules: ['version'],
  audit_event: ['id'],
  beneficiary: ['id', 'recipient_id'],
  counted_payment: ['transaction_id'],
  customer_order: ['id', 'external_reference'],
  event: ['id', 'resource_id'],
  execution: ['id', 'order_id', 'transaction_id'],
  idempotency: ['key'],
  limit_change: ['version'],
  limit_use: ['limit_id'],
  order_change: ['id', 'order_id'],
  payout: ['transaction_id'],
  quote: ['id'],
  quote_use: ['quote_id', 'order_id'],
  recipient: ['id'],
  remittance_event: ['id', 'transaction_id', 'provider_event'],
  transaction: ['id', 'return_of'],
  transfer: ['id', 'transaction_id', 'account_version'],
};
/** Tables with one row, or a few, of each workspace. */
const OF_EACH = { audit_head: [], limit_list: [], payment_limit: ['id'] };
const ALWAYS = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
/** An account whose payments the network of the sandbox rejects. */
const REJECTED = 'DE52370400440532019001';
const ROWS = 2_500;
const FIRST = 1_000_000;
/** What the network of the sandbox says next of each payment, it says now. */
const NETWORK_SAYS = 'update sandbox_rail_event set due_at = now(), handed_until = null where not acknowledged';

let at: OrderWorld;
let database: Database;
let service: LedgerBankingService;
let from: AccountId;
let abroad: RecipientId;
let near: RecipientId;
let rejected: RecipientId;
let dana: Member;
let work: () => Promise<void>;
const errors: unknown[] = [];

const amount = '5000' as TransferAmount;
/** More than an order may have without approvals. */
const BOUND = '100000';
const large = '100001' as TransferAmount;
const pay = async (to: RecipientId, by = service): Promise<Order> =>
  (await by.placeOrder(at.ada, at.order(from, to, { amount, purposeCode: 'IR001' }), at.key())).resource;

beforeAll(async () => {
  at = await orderWorld();
  const { owner, connection } = at.world;
  const { workspaceId } = at.ada;
  const euro = (await at.service.listProducts({})).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  [from, near] = [await at.account(euro, '100000000'), await at.near(await at.account(euro, '0'))];
  abroad = await recipientAbroad(at.service, at.ada, 'DE89370400440532013000');
  rejected = await recipientAbroad(at.service, at.ada, REJECTED);
  const limit = { scope: 'workspace', metric: 'amount', per: 'day', value: '100000000', currency: 'EUR' } as const;
  await at.service.replaceLimits(at.ada, { version: 0, limits: [limit] });
  const amountAbove = [{ currencyCode: 'EUR', amount: BOUND }] as const;
  const rule = { operations: 'orders', approvals: 1, roles: ['approver'], amountAbove } as const;
  await at.service.replaceApprovalRules(at.ada, { version: 0, rules: [rule] });
  dana = { workspaceId, actor: at.world.demo.users['dana@northwind.example'] as UserId };
  await openService(await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 }));
  await pay(near);
  await pay(abroad);
  await approve(await request(near));
  const { id: orderId } = await placeLater();
  await service.cancelOrder(at.ada, { accountId: from, orderId });
  await work();

  await owner.query('set session_replication_role = replica');
  for (const [table, names] of Object.entries({ ...TABLES, ...OF_EACH })) {
    const isShared = !(table in OF_EACH);
    const varied = names.map(
      (name) => `'${name}', case jsonb_typeof(to_jsonb(o) -> '${name}') when 'null' then null else n end`,
    );
    const { rowCount } = await owner.query(
      `insert into ${table} overriding system value
       select r.* from (
         select * from ${table} t where workspace_id = ${workspaceId}
         order by (to_jsonb(t) ->> 'account_id' = '${from}') desc nulls last limit 1) o
       cross join generate_series(${FIRST}, ${FIRST + 2 * ROWS}) n
       cross join lateral jsonb_populate_record(null::${table}, to_jsonb(o) || jsonb_build_object(
         'workspace_id', case when ${isShared} and n % 2 = 0 then ${workspaceId} else 100000 + n end
         ${varied.map((pair) => `, ${pair}`).join('')})) r`,
    );
    expect([table, rowCount]).toEqual([table, 2 * ROWS + 1]);
  }
  await owner.query('reset session_replication_role');
  // What an order writes comes last, so that a scan that ends at the first row of it reads the others too.
  await owner.query(
    `select setval(c.oid, ${FIRST} * 5) from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'banking' and c.relkind = 'S'`,
  );
  await owner.query('analyze');
  // What this session has read is not counted later.
  await owner.query('select pg_stat_force_next_flush()');
  // The session ends with its plans for small tables.
  await database.end();
  await openService(await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 }));
});

/** On one session, which states what it has read when it is asked to. */
async function openService(opened: Database): Promise<void> {
  database = opened;
  const books = openBooks(database);
  service = new LedgerBankingService(database, books, { rails: SANDBOX_ROUTING }, true);
  const fail = (error: unknown) => errors.push(error);
  const parts = { orders: service.orders, approvals: service, rails: sandboxRails, onError: fail };
  const { chores = [], ...rest } = workOf({ database, books }, parts);
  // What verifies and cleans up reads whole workspaces, a part at a time.
  const worker = new Worker({
    ...rest,
    chores: chores.filter(({ name }) => /^(events|audit|rail-events-.*)$/.test(name)),
  });
  work = async () => {
    while ((await worker.step()) > 0 || (await at.world.owner.query(NETWORK_SAYS)).rowCount! > 0);
    expect(errors).toEqual([]);
  };
}

const request = async (to: RecipientId) =>
  (await service.placeOrder(at.ada, at.order(from, to, { amount: large, purposeCode: 'IR001' }), at.key())).resource;

async function approve({ approvalID }: Order): Promise<void> {
  await service.decideApproval(dana, { approvalId: approvalID as ApprovalId, decision: 'approve', version: 1 });
}

const placeLater = async () => {
  const later = { type: 'scheduled', startAt: '2040-03-01T09:00:00Z' } as const;
  return (await service.placeOrder(at.ada, at.order(from, near, later), at.key())).resource;
};

afterAll(async () => {
  await database.end();
  await at.world.close();
});

const rowsRead = (call: () => Promise<unknown>) =>
  tablesReadMuch({ database, owner: at.world.owner, tables: [...Object.keys(TABLES), ...Object.keys(OF_EACH)] }, call);

describe('in a large workspace among thousands of small ones', () => {
  it.each(['first', 'again', 'remembered'])('an order reads few rows (%s)', async () => {
    expect(await rowsRead(() => pay(near))).toEqual([]);
    expect(await rowsRead(() => pay(abroad))).toEqual([]);
  });

  it('a read of an order, and of a transfer of it, reads few rows', async () => {
    const { id, edges } = await pay(abroad);
    const [transfer] = edges.executions![0]!.edges.transaction!.edges.transfers!;
    expect(await rowsRead(() => service.getOrder(at.ada, { accountId: from, orderId: id }))).toEqual([]);
    expect(await rowsRead(() => service.getTransfer(at.ada, { transferId: transfer!.id }))).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['recipients', () => service.listRecipients(at.ada, { limit: 10 })],
    ['transfers', () => service.listTransfers(at.ada, { limit: 10 })],
    ['orders', () => service.listOrders(at.ada, { accountId: from, limit: 10 })],
  ])('a page of %s reads few rows', async (_, read) => {
    expect(await rowsRead(read)).toEqual([]);
  });

  it.each(['first', 'again'])('a request, its approval and what it carries out read few rows (%s)', async () => {
    for (const to of [near, abroad]) {
      let order: Order | undefined;
      expect(await rowsRead(async () => (order = await request(to)))).toEqual([]);
      expect(await rowsRead(() => approve(order!))).toEqual([]);
      expect(await rowsRead(work)).toEqual([]);
      expect((await service.getOrderById(at.ada, { orderId: order!.id })).status).toBe('completed');
    }
  });

  it.each(['first', 'again'])('a payout is sent and settled with few rows (%s)', async () => {
    const { id: orderId } = await pay(abroad);
    expect(await rowsRead(work)).toEqual([]);
    const { edges } = await service.getOrderById(at.ada, { orderId });
    expect(edges.executions?.[0]?.edges.transaction?.status).toBe('completed');
  });

  it('a payout that is rejected comes back with few rows', async () => {
    const { id: orderId } = await pay(rejected);
    expect(await rowsRead(work)).toEqual([]);
    expect((await service.getOrderById(at.ada, { orderId })).edges.executions?.[0]?.status).toBe('failed');
  });

  it('a later order runs, and another one is cancelled, with few rows', async () => {
    const [runs, cancelled] = [await placeLater(), await placeLater()];
    expect(await rowsRead(() => service.cancelOrder(at.ada, { accountId: from, orderId: cancelled.id }))).toEqual([]);
    await service.moveClock(at.ada, { now: '2040-03-02T00:00:00Z' });
    expect(await rowsRead(work)).toEqual([]);
    expect((await service.getOrderById(at.ada, { orderId: runs.id })).status).toBe('completed');
  });

  it.each<[string, () => Promise<unknown>]>([
    ['approvals', () => service.listApprovals(at.ada, { limit: 10 })],
    ['approvals that wait', () => service.listApprovals(at.ada, { status: 'required', limit: 10 })],
    ['events', () => service.listEvents(at.ada, { limit: 10 })],
    ['the audit trail', () => service.listAuditEvents(at.ada, { limit: 10 })],
    ['a statement', () => service.getStatement(at.ada, { accountId: from, limit: 10, ...ALWAYS })],
    ['limits', () => service.getLimits(at.ada)],
  ])('a page of %s reads few rows', async (_, read) => {
    expect(await rowsRead(read)).toEqual([]);
  });
});
