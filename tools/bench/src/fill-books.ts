import { parseAmount } from '@banking/domain';
import { post, requirePosted, type Entry, type Proposal } from '@banking/ledger';
import type { Deployment } from '@banking/deployment';
import { bind, sqlStatement } from '@banking/postgres';

/** Transactions of one database transaction, two transfers each. */
const BATCH = 500;
const ACCOUNTS_MAX = 1_000;

/** Northwind Trading, of which Ada is an admin in the demo data. */
const WORKSPACE = 1;

const COUNT = sqlStatement<{ transfer_count: bigint }>(
  'bench_count',
  'select count(*) as transfer_count from transfer',
);
interface Account {
  readonly id: bigint;
  readonly currency_id: number;
}

/** Of the currency with the most accounts. */
const ACCOUNTS = sqlStatement<Account>(
  'bench_accounts',
  `select id, currency_id from account
   where workspace_id = $1 and kind = 'customer' and status = 'enabled' and balance >= 100 and currency_id = (
     select currency_id from account where workspace_id = $1 and kind = 'customer' and status = 'enabled'
     group by currency_id order by count(*) desc, currency_id limit 1)
   order by balance desc, id limit $2`,
);
const SAMPLE = sqlStatement<{ id: bigint }>(
  'bench_sample',
  `select t.id from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
   where t.workspace_id = $1 and a.kind = 'customer' order by md5(t.id::text) limit $2`,
);

/**
 * Posts transfers between accounts of a demo workspace, each to the next and the last to the first, until the books hold this many.
 *
 * @param onProgress receives the number of transfers after every batch
 * @returns how many were posted
 */
export async function fillBooks(
  { books, database }: Deployment,
  transfers: number,
  onProgress: (transfers: number) => void,
): Promise<number> {
  const [[counted], accounts] = await database.pipeline({ workspaces: [WORKSPACE] }, [
    bind(COUNT),
    bind(ACCOUNTS, WORKSPACE, ACCOUNTS_MAX),
  ] as const);
  if (!counted || accounts.length < 2) throw new Error('the demo data has no two accounts of one currency');
  const before = Number(counted.transfer_count);
  let [planned, posted] = [before, before];
  const fill = async (ring: readonly Account[]) => {
    for (let turn = 0; planned < transfers;) {
      const count = Math.min(BATCH, Math.ceil((transfers - planned) / 2));
      planned += 2 * count;
      const proposals = Array.from({ length: count }, (): Proposal => {
        const [from, to] = [ring[turn % ring.length]!, ring[(turn + 1) % ring.length]!];
        turn += 1;
        return { entries: [between(Number(from.id), Number(to.id), from.currency_id)] };
      });
      (await post(books, proposals)).forEach(requirePosted);
      posted += 2 * count;
      onProgress(posted);
    }
  };
  // Two halves without a common account do not wait for each other's locks.
  const half = accounts.length < 4 ? accounts.length : Math.ceil(accounts.length / 2);
  await Promise.all([accounts.slice(0, half), accounts.slice(half)].filter((ring) => ring.length > 0).map(fill));
  return posted - before;
}

function between(from: number, to: number, currencyId: number): Entry {
  const movement = { currencyId, amount: parseAmount('1.00', 'USD'), type: 'internal', description: 'Float' };
  return {
    workspaceId: WORKSPACE,
    status: 'completed',
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
