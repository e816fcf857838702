import type { AccountId, TransferAmount } from '@banking/domain';
import { SCHEMA } from '@banking/postgres';
import { orderWorld, recipientAbroad, type OrderWorld } from '../testing/order-world.js';

/** What an order writes into a table: rows, index entries, and rows whose reference PostgreSQL looks up by a foreign key. */
type Counts = readonly [rows: number, indexEntries: number, foreignKeyChecks: number];

/** `account` is updated and all others get new rows. */
const UPDATED = 'account';

let at: OrderWorld;

beforeAll(async () => {
  at = await orderWorld();
});
afterAll(() => at.world.close());

const query = async <Row extends object>(text: string): Promise<Row[]> => (await at.world.owner.query<Row>(text)).rows;

async function orderOnce(accountId: AccountId, amount: string): Promise<{ readonly xid: string; readonly id: number }> {
  const recipientId = await recipientAbroad(at.service, at.ada, 'DE89370400440532013000');
  const payment = { amount: amount as TransferAmount, purposeCode: 'IR001' };
  const place = async () =>
    (await at.service.placeOrder(at.ada, at.order(accountId, recipientId, payment), at.key())).resource;
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
  return at.account(Number(product!.id), '1000000');
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
      remittance: [1, 2, 0],
      transaction: [1, 2, 0],
      transfer: [4, 13, 0],
      unverified_posting: [1, 1, 0],
      work: [1, 2, 0],
    });
    expect(sumOf(writes)).toEqual([18, 37, 1]);
  });

  it('also writes those of a conversion if the currencies differ', async () => {
    const { xid } = await orderOnce(await openAccount('USD'), '10000');

    const writes = await writesOf(xid);

    expect({ conversion: writes['conversion'], transfer: writes['transfer'] }).toEqual({
      conversion: [1, 1, 0],
      transfer: [6, 15, 0],
    });
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
