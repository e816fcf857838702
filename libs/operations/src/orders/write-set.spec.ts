import { type AccountId, minorUnits, type TransferAmount } from '@banking/domain';
import { decide, type Entry, lockAndRead, preparePosting, postPayments } from '@banking/ledger';
import { bind, SCHEMA, sqlStatement } from '@banking/postgres';
import { orderWorld, type OrderWorld, recipientAbroad } from '../testing/order-world.js';
import { refreshStatistics } from '../worker/start-banking-worker.js';

let given: OrderWorld;

beforeAll(async () => {
  given = await orderWorld();
});

afterAll(() => given.world.close());

/** What an order writes into a table: rows, index entries, and rows whose reference PostgreSQL looks up by a foreign key. */
type Counts = readonly [rows: number, indexEntries: number, foreignKeyChecks: number];

/** `account` is updated and all others get new rows. */
const UPDATED = 'account';

const query = async <Row extends object>(text: string): Promise<Row[]> =>
  (await given.world.owner.query<Row>(text)).rows;

async function orderOnce(accountId: AccountId, amount: string): Promise<{ readonly xid: string; readonly id: number }> {
  const recipientId = await recipientAbroad(given.service, given.ada, 'DE89370400440532013000');
  const payment = { amount: amount as TransferAmount, purposeCode: 'IR001' };
  const place = async () =>
    (await given.service.placeOrder(given.ada, given.order(accountId, recipientId, payment), given.key())).resource;
  // The first order makes our own accounts.
  await place();
  const { id } = await place();
  const [row] = await query<{ xid: string }>(`select xmin::text as xid from customer_order where id = ${id}`);
  return { ...row!, id };
}

/** Counts the rows of one database transaction, with their indexes and foreign keys by the catalog. */
async function writesOf(xid: string): Promise<Record<string, Counts>> {
  const tables = await query<{ name: string; indexes: string[] | null; references: string[] | null }>(
    `select c.relname as name,
       (select array_agg(coalesce(pg_get_expr(i.indpred, i.indrelid), 'true')) from pg_index i where i.indrelid = c.oid) as indexes,
       (select array_agg((select string_agg(format('%I is not null', a.attname), ' and ')
                          from pg_attribute a where a.attrelid = c.oid and a.attnum = any(k.conkey)))
        from pg_constraint k where k.conrelid = c.oid and k.contype = 'f') as references
     from pg_class c where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind = 'r' order by c.relname`,
  );
  const writes: Record<string, Counts> = {};
  for (const { name, indexes, references } of tables) {
    const count = (conditions: readonly string[] | null) =>
      (conditions ?? []).map((condition) => `count(*) filter (where ${condition})`).join(' + ') || '0';
    const [counted] = await query<{ rows: number; entries: number; checks: number }>(
      `select count(*)::int as rows, (${count(indexes)})::int as entries, (${count(references)})::int as checks
       from ${name} where xmin::text = '${xid}'`,
    );
    const { rows, entries, checks } = counted!;
    if (rows > 0) writes[name] = name === UPDATED ? [rows, 0, 0] : [rows, entries, checks];
  }
  return writes;
}

const sumOf = (writes: Record<string, Counts>) =>
  Object.values(writes).reduce((sum, [rows, entries, checks]) => [sum[0] + rows, sum[1] + entries, sum[2] + checks], [
    0, 0, 0,
  ] as Counts);

const openAccount = async (currencyCode: string) => {
  const [product] = await query<{ id: bigint }>(
    `select p.id from product p join currency c on c.id = p.currency_id where c.code = '${currencyCode}' limit 1`,
  );
  return given.account(Number(product!.id), '1000000');
};

describe('an instant order to a recipient abroad, with a fee', () => {
  it('writes the rows, index entries and foreign-key checks listed here', async () => {
    const { xid } = await orderOnce(await openAccount('EUR'), '10000');
    const writes = await writesOf(xid);

    expect(writes).toEqual({
      account: [1, 0, 0],
      audit_outbox: [1, 2, 0],
      change_outbox: [4, 4, 0],
      customer_order: [1, 5, 0],
      execution: [1, 3, 0],
      idempotency: [1, 2, 1],
      payout: [1, 1, 0],
      transaction: [1, 2, 0],
      transfer: [2, 11, 0],
      unverified_posting: [1, 1, 0],
      work: [1, 3, 0],
    });
    expect(sumOf(writes)).toEqual([15, 34, 1]);
  });

  it('writes no more of them if it converts', async () => {
    const { xid } = await orderOnce(await openAccount('USD'), '10000');

    expect(sumOf(await writesOf(xid))).toEqual([15, 34, 1]);
  });

  it('updates its account without index entries', async () => {
    const accountId = await openAccount('EUR');
    const pageOf = () => query(`select (ctid::text::point)[0] as page from account where id = ${accountId}`);
    const page = await pageOf();
    const { xid } = await orderOnce(accountId, '10000');

    expect((await writesOf(xid))[UPDATED]).toEqual([1, 0, 0]);
    expect(await pageOf()).toEqual(page);
    expect(await query(INDEXED_BALANCES)).toEqual([]);
    expect(await query(`select reloptions from pg_class where oid = 'account'::regclass`)).toEqual([
      { reloptions: ['fillfactor=50'] },
    ]);
  });
});

/** Indexes of accounts that contain a column which a transfer changes. */
const INDEXED_BALANCES = `
  select i.indexrelid::regclass::text as name from pg_index i
  where i.indrelid = 'account'::regclass and exists (
    select from pg_attribute a where a.attrelid = i.indrelid
      and a.attname in ('balance', 'version', 'balance_id', 'balance_at', 'head')
      and (a.attnum = any(i.indkey) or pg_get_expr(i.indpred, i.indrelid) ~ ('\\m' || a.attname || '\\M')))`;

const EUR = 978;

/** The session reports its counters now and then, so a difference within one database transaction is taken. */
const READ_COUNTERS = sqlStatement<{ scans: number; rows: number }>(
  'read_counters',
  `select sum(seq_scan)::int as scans, sum(idx_tup_fetch)::int as rows from pg_stat_xact_user_tables
   where relname in ('account', 'transaction', 'transfer', 'recipient')`,
);

/** A payment of 0.02 with a fee of 0.01. */
function payment(workspaceId: number, account: number): Entry {
  const leg = { currencyId: EUR };
  const [amount, fee] = [minorUnits(2n), minorUnits(1n)];
  return {
    workspaceId,
    status: 'pending',
    rail: 'sandbox',
    legs: [
      { ...leg, type: 'payout', account, direction: 'debit', amount },
      { ...leg, type: 'payout', account: 'settlement', direction: 'credit', amount },
      { ...leg, type: 'fee', account, direction: 'debit', amount: fee },
      { ...leg, type: 'fee', account: 'fees', direction: 'credit', amount: fee },
    ],
  };
}

/** The tables that are read from their beginning to their end, and the rows that are read by indexes, while payments are written. */
async function readsOf(accounts: readonly number[], payments: number) {
  const { world, ada } = given;
  const proposals = Array.from({ length: payments }, (_, index) => ({
    entries: [payment(ada.workspaceId, accounts[index % accounts.length]!)],
  }));
  const posting = await preparePosting(world.books, proposals);
  return world.database.transaction({ workspaces: [ada.workspaceId] }, async (tx) => {
    const { context } = await lockAndRead(tx, posting);
    const posted = proposals.flatMap((proposal) => decide(context, proposal).posted ?? []);
    expect(posted).toHaveLength(payments);
    const [[before]] = await tx.pipeline([bind(READ_COUNTERS)] as const);
    const rows = await tx.commit([...postPayments(posted), bind(READ_COUNTERS)]);
    const [after] = rows.at(-1) as [typeof before];
    return { scans: after!.scans - before!.scans, rowsPerPayment: (after!.rows - before!.rows) / payments };
  });
}

it('reads few rows by their keys for batches of 1, 64 and 500, in a new database that has grown', async () => {
  const euro = (await given.service.listProducts({})).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  const accounts: number[] = [];
  for (let count = 0; count < 64; count += 1) accounts.push(await given.account(euro, '10000'));
  // The plans of the first batch stay, and the tables grow.
  await readsOf(accounts, 1);
  await given.world.owner.query(
    `set session_replication_role = replica;
     insert into account (workspace_id, kind, currency_id, product_id, name, type, code)
       select ${given.ada.workspaceId}, 'customer', ${EUR}, ${euro}, 'Many', 'CACC', 'M' || n from generate_series(1, 2000) n;
     insert into transaction (workspace_id, status, hash)
       select ${given.ada.workspaceId}, 'pending', decode(repeat('a', 64), 'hex') from generate_series(1, 2000) n;
     set session_replication_role = origin`,
  );

  // The worker's chore. Plans of a table without statistics stay until then.
  await refreshStatistics(given.world.database);

  const reads = [];
  for (const payments of [1, 64, 500, 64, 1]) {
    const { scans, rowsPerPayment } = await readsOf(accounts, payments);
    reads.push({ payments, scans, rowsPerPayment });
  }

  for (const { scans, rowsPerPayment } of reads) {
    expect(scans).toBe(0);
    expect(rowsPerPayment).toBeLessThan(30);
  }
});
