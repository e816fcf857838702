import { minorUnits } from '@banking/domain';
import { decide, type Entry, lockAndRead, preparePosting, write } from '@banking/ledger';
import { bind, sqlStatement } from '@banking/postgres';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { refreshStatistics } from '../worker/start-banking-worker.js';

const EUR = 978;

let at: OrderWorld;

beforeAll(async () => {
  at = await orderWorld();
});
afterAll(() => at.world.close());

/** The session reports its counters now and then, so a difference within one database transaction is taken. */
const READ_COUNTERS = sqlStatement<{ scans: number; rows: number }>(
  'read_counters',
  `select sum(seq_scan)::int as scans, sum(idx_tup_fetch)::int as rows from pg_stat_xact_user_tables
   where relname in ('account', 'transaction', 'transfer', 'recipient')`,
);

/** A payment of 0.02 with a fee of 0.01. */
function payment(workspaceId: number, account: number): Entry {
  const leg = { currencyId: EUR, type: 'payout' };
  const [amount, fee] = [minorUnits(2n), minorUnits(1n)];
  return {
    workspaceId,
    status: 'completed',
    legs: [
      { ...leg, account, direction: 'debit', amount },
      { ...leg, account: 'settlement', direction: 'credit', amount },
      { ...leg, account, direction: 'debit', amount: fee },
      { ...leg, account: 'fees', direction: 'credit', amount: fee },
    ],
  };
}

/** The tables that are read from their beginning to their end, and the rows that are read by indexes, while payments are written. */
async function readsOf(accounts: readonly number[], payments: number) {
  const { world, ada } = at;
  const proposals = Array.from({ length: payments }, (_, index) => ({
    entries: [payment(ada.workspaceId, accounts[index % accounts.length]!)],
  }));
  const posting = await preparePosting(world.books, proposals);
  return world.database.transaction({ workspaces: [ada.workspaceId] }, async (tx) => {
    const { context } = await lockAndRead(tx, posting);
    const posted = proposals.flatMap((proposal) => decide(context, proposal).posted ?? []);
    expect(posted).toHaveLength(payments);
    const [[before]] = await tx.pipeline([bind(READ_COUNTERS)] as const);
    const [[after]] = await write(tx, posted, [bind(READ_COUNTERS)] as const);
    return { scans: after!.scans - before!.scans, rowsPerPayment: (after!.rows - before!.rows) / payments };
  });
}

it('reads few rows by their keys for batches of 1, 64 and 500, in a new database that has grown', async () => {
  const euro = (await at.service.listProducts()).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  const accounts: number[] = [];
  for (let count = 0; count < 64; count += 1) accounts.push(await at.account(euro, '10000'));
  // The plans of the first batch stay, and the tables grow.
  await readsOf(accounts, 1);
  await at.world.owner.query(
    `set session_replication_role = replica;
     insert into account (workspace_id, kind, currency_id, product_id, name, type, code)
       select ${at.ada.workspaceId}, 'customer', ${EUR}, ${euro}, 'Many', 'CACC', 'M' || n from generate_series(1, 2000) n;
     insert into transaction (workspace_id, status, hash)
       select ${at.ada.workspaceId}, 'pending', repeat('a', 64) from generate_series(1, 2000) n;
     set session_replication_role = origin`,
  );

  // The worker's chore. Plans of a table without statistics stay until then.
  await refreshStatistics(at.world.database);

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
