import { parseAmount } from '@banking/domain';
import { post, requirePosted, type Entry, type Proposal } from '@banking/ledger';
import type { Deployment } from '@banking/deployment';
import { bind, sqlStatement } from '@banking/postgres';

/** Transactions of one database transaction, two transfers each. */
const BATCH = 500;

/** Northwind Trading, of which Ada is an admin in the demo data. */
const WORKSPACE = 1;

const COUNT = sqlStatement<{ transfer_count: bigint }>(
  'bench_count',
  'select count(*) as transfer_count from transfer',
);
const ACCOUNTS = sqlStatement<{ id: bigint; currency_id: number }>(
  'bench_accounts',
  `select id, currency_id from account
   where workspace_id = $1 and kind = 'customer' and currency_id in (
     select currency_id from account where workspace_id = $1 and kind = 'customer' group by currency_id having count(*) > 1)
   order by currency_id, balance desc limit 2`,
);
const SAMPLE = sqlStatement<{ id: bigint }>(
  'bench_sample',
  `select t.id from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
   where t.workspace_id = $1 and a.kind = 'customer' order by md5(t.id::text) limit $2`,
);

/**
 * Posts transfers between two accounts of a demo workspace, there and back, until the books hold this many.
 *
 * @param onProgress receives the number of transfers after every batch
 */
export async function fillBooks(
  { books, database }: Deployment,
  transfers: number,
  onProgress: (transfers: number) => void,
): Promise<void> {
  const [[counted], [one, other]] = await database.pipeline({ workspaces: [WORKSPACE] }, [
    bind(COUNT),
    bind(ACCOUNTS, WORKSPACE),
  ] as const);
  if (!counted || !one || !other) throw new Error('the demo data has no two accounts of one currency');
  let there = Number(counted.transfer_count);
  while (there < transfers) {
    const count = Math.min(BATCH, Math.ceil((transfers - there) / 2));
    const proposals = Array.from({ length: count }, (_, index): Proposal => {
      const [from, to] = index % 2 === 0 ? [one, other] : [other, one];
      return { entries: [between(Number(from.id), Number(to.id), one.currency_id)] };
    });
    const outcomes = await post(books, proposals);
    outcomes.forEach(requirePosted);
    there += 2 * count;
    onProgress(there);
  }
}

function between(from: number, to: number, currencyId: number): Entry {
  const movement = { currencyId, amount: parseAmount('1.00', 'USD'), type: 'internal', description: 'Float' };
  return {
    workspaceId: WORKSPACE,
    status: 'completed',
    valueDate: new Date().toISOString().slice(0, 10),
    legs: [
      { ...movement, account: from, direction: 'debit' },
      { ...movement, account: to, direction: 'credit' },
    ],
  };
}

/** Transfers from all over the books, the same ones for the same books. */
export async function sampleTransfers({ database }: Deployment, count: number): Promise<number[]> {
  const [rows] = await database.pipeline({ workspaces: [WORKSPACE] }, [bind(SAMPLE, WORKSPACE, count)] as const);
  return rows.map(({ id }) => Number(id));
}
