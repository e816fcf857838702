import type { AccountId, Order, RecipientId, TransferAmount } from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { openDatabase, sql } from '@banking/postgres/testing';
import { openBooks } from '@banking/ledger';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { orderWorld, type OrderWorld, recipientAbroad } from '../testing/order-world.js';

/**
 * Tables with what tells their rows apart. Half of the rows are of the large workspace, the others each of another one, so that a planner
 * that counts the condition on the workspace twice, as a query and row-level security state it, expects one row of each workspace.
 */
const TABLES = {
  beneficiary: ['id', 'recipient_id'],
  counted_payment: ['transaction_id'],
  customer_order: ['id', 'external_reference'],
  execution: ['id', 'order_id', 'transaction_id'],
  idempotency: ['key'],
  limit_change: ['version'],
  payout: ['transaction_id'],
  quote: ['id'],
  quote_use: ['quote_id', 'order_id'],
  recipient: ['id'],
  transaction: ['id', 'return_of'],
  transfer: ['id', 'transaction_id', 'account_version'],
};
const ROWS = 2_500;
const FIRST = 1_000_000;
/** Of a table, in one order or read. A scan of a workspace reads more. */
const READ_MAX = 500;

let at: OrderWorld;
let database: Database;
let service: LedgerBankingService;
let from: AccountId;
let abroad: RecipientId;
let near: RecipientId;

const amount = '5000' as TransferAmount;
const pay = async (to: RecipientId, by = service): Promise<Order> =>
  (await by.placeOrder(at.ada, at.order(from, to, { amount, purposeCode: 'IR001' }), at.key())).resource;

beforeAll(async () => {
  at = await orderWorld();
  const { owner, connection } = at.world;
  const { workspaceId } = at.ada;
  const euro = (await at.service.listProducts({})).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  [from, near] = [await at.account(euro, '100000000'), await at.near(await at.account(euro, '0'))];
  abroad = await recipientAbroad(at.service, at.ada, 'DE89370400440532013000');
  const limit = { scope: 'workspace', metric: 'amount', per: 'day', value: '100000000', currency: 'EUR' } as const;
  await at.service.replaceLimits(at.ada, { version: 0, limits: [limit] });
  const rule = { operations: 'orders', approvals: 1, roles: ['approver'], recipientNewerThanDays: 0 } as const;
  await at.service.replaceApprovalRules(at.ada, { version: 0, rules: [rule] });
  await pay(near, at.service);
  await pay(abroad, at.service);

  await owner.query('set session_replication_role = replica');
  for (const [table, names] of Object.entries(TABLES)) {
    const varied = names.map(
      (name) => `'${name}', case jsonb_typeof(to_jsonb(o) -> '${name}') when 'null' then null else n end`,
    );
    const { rowCount } = await owner.query(
      `insert into ${table} overriding system value
       select r.* from (select * from ${table} where workspace_id = ${workspaceId} limit 1) o
       cross join generate_series(${FIRST}, ${FIRST + 2 * ROWS}) n
       cross join lateral jsonb_populate_record(null::${table}, to_jsonb(o) || jsonb_build_object(
         'workspace_id', case when n % 2 = 0 then ${workspaceId} else 100000 + n end, ${varied.join(', ')})) r`,
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
  // One session, which states what it has read when it is asked to.
  database = await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
  service = new LedgerBankingService(database, openBooks(database), { rails: SANDBOX_ROUTING });
});

afterAll(async () => {
  await database.end();
  await at.world.close();
});

/** The tables of which a call has read many rows. Other sessions state what they have read at any time, but nothing of these tables. */
async function rowsRead(call: () => Promise<unknown>): Promise<readonly (readonly [string, number])[]> {
  const before = await rowsOfTables();
  await call();
  const after = await rowsOfTables();
  return [...after]
    .map(([table, rows]) => [table, rows - (before.get(table) ?? 0)] as const)
    .filter(([, rows]) => rows > READ_MAX);
}

async function rowsOfTables(): Promise<ReadonlyMap<string, number>> {
  await database.pipeline({ workspaces: [] }, [sql('select pg_stat_force_next_flush()')] as const);
  await at.world.owner.query('select pg_stat_clear_snapshot()');
  const { rows } = await at.world.owner.query<{ name: string; rows: number }>(
    `select relname as name, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows
     from pg_stat_user_tables where schemaname = $1 and relname = any($2)`,
    [SCHEMA, Object.keys(TABLES)],
  );
  return new Map(rows.map(({ name, rows: read }) => [name, read]));
}

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
});
