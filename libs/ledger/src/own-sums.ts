import { bind, sqlStatement, type Database, type DbTransaction } from '@banking/postgres';
import type { BooksAt } from './books-at.js';
import { rangeKey, rangesOf, type Range, type RangeOptions } from './ranges.js';

const TRANSACTIONS = ['own accounts', rangeKey('transaction')] as const;

/** The sum of the transfers on one own account in a currency. */
interface OwnSum {
  readonly accountId: number;
  readonly currencyId: number;
  amount: bigint;
  /** The part that was inserted by the time of the caller. */
  amountByTime: bigint;
}

/** The sums over the transactions at an instant. */
interface OwnSums {
  readonly transactions: number;
  readonly transfers: number;
  readonly sums: readonly OwnSum[];
  /** Accounts whose transfers have a version and should not, or have none and should. */
  readonly misfits: readonly number[];
}

interface Touched {
  readonly account_id: bigint;
  readonly currency_id: number;
  readonly version: bigint | null;
  readonly unversioned: number;
  readonly transfers: number;
  /** Digits. */
  readonly moved: string;
  readonly moved_by_time: string;
}

const touched = (name: string, and = '') =>
  sqlStatement<Touched>(
    name,
    `select t.account_id, t.currency_id, max(t.account_version) as version, count(*)::int as transfers,
            count(*) filter (where t.account_version is null)::int as unversioned,
            sum(case t.direction when 'credit' then t.amount else -t.amount end) as moved,
            coalesce(sum(case t.direction when 'credit' then t.amount else -t.amount end)
                     filter (where t.created_at <= $4::timestamptz), 0) as moved_by_time
     from leg t
     where t.workspace_id = $1 and t.transaction_id > $2 and t.transaction_id <= $3 ${and}
     group by t.account_id, t.currency_id`,
  );
const TOUCHED = touched('touched_accounts');
const TOUCHED_WITHOUT = touched(
  'touched_accounts_without',
  'and not exists (select from unnest($5::bigint[]) u(id) where u.id = t.transaction_id)',
);

const COUNT = sqlStatement<{ transactions: number; is_later: boolean | null }>(
  'count_transactions',
  `select count(*)::int as transactions, bool_or(created_at > $4::timestamptz) as is_later
   from transaction where workspace_id = $1 and id > $2 and id <= $3`,
);

/**
 * Later transactions: above the version that an account had at the instant. A version that the account has not reached even now was never
 * posted. It is a finding and stays in the sum.
 */
const LATER = sqlStatement<{ id: bigint }>(
  'later_transactions',
  `select distinct t.transaction_id as id
   from unnest($5::bigint[], $6::bigint[]) u(account_id, version)
   join account a on a.workspace_id = $1 and a.id = u.account_id
   join transfer t on t.workspace_id = $1 and t.account_id = u.account_id and t.account_version > u.version and t.account_version <= a.version
   where t.transaction_id > $2 and t.transaction_id <= $3
   union
   select x.id from transaction x
   where x.workspace_id = $1 and x.id > $2 and x.id <= $3 and x.created_at > $4::timestamptz
     and not exists (select from transfer t where t.workspace_id = $1 and t.transaction_id = x.id)`,
);

/**
 * Sums the own accounts and counts the transactions at an instant, each range of transactions in a snapshot of its own.
 *
 * @param byTime RFC 3339; the part of each sum that was inserted by then is returned too
 */
export async function ownSums(
  database: Database,
  books: BooksAt,
  byTime: string = books.at,
  options: RangeOptions = {},
): Promise<OwnSums> {
  const { workspaceId, ownAccounts, versions } = books;
  const sums = new Map<string, OwnSum>();
  const misfits = new Set<number>();
  let [transactions, transfers] = [0, 0];
  for await (const range of rangesOf(database, workspaceId, TRANSACTIONS, options)) {
    const work = (tx: DbTransaction) => readRange(tx, books, range, byTime);
    const read = await database.transaction({ workspaces: [workspaceId] }, work, { snapshot: true });
    transactions += read.transactions;
    for (const row of read.touched) {
      const accountId = Number(row.account_id);
      transfers += row.transfers;
      if (versions.has(accountId) && row.unversioned > 0) misfits.add(accountId);
      if (!ownAccounts.has(accountId)) continue;
      if (row.version !== null) misfits.add(accountId);
      const key = `${accountId}/${row.currency_id}`;
      const sum = sums.get(key) ?? { accountId, currencyId: row.currency_id, amount: 0n, amountByTime: 0n };
      sum.amount += BigInt(row.moved);
      sum.amountByTime += BigInt(row.moved_by_time);
      sums.set(key, sum);
    }
  }
  return { transactions, transfers, sums: [...sums.values()], misfits: [...misfits] };
}

async function readRange(
  tx: DbTransaction,
  { workspaceId, versions, at }: BooksAt,
  { after, upto }: Range,
  byTime: string,
) {
  const [[count], rows] = await tx.pipeline([
    bind(COUNT, workspaceId, after, upto, at),
    bind(TOUCHED, workspaceId, after, upto, byTime),
  ] as const);
  const moved = rows.flatMap(({ account_id, version }) => {
    const before = versions.get(Number(account_id)) ?? 0;
    return version !== null && version > before ? [{ account_id, before }] : [];
  });
  if (moved.length === 0 && count?.is_later !== true) return { transactions: count?.transactions ?? 0, touched: rows };

  const ids = moved.map(({ account_id }) => account_id);
  const then = moved.map(({ before }) => before);
  const [later] = await tx.pipeline([bind(LATER, workspaceId, after, upto, at, ids, then)] as const);
  if (later.length === 0) return { transactions: count?.transactions ?? 0, touched: rows };
  const without = later.map(({ id }) => id);
  const [before] = await tx.pipeline([bind(TOUCHED_WITHOUT, workspaceId, after, upto, byTime, without)] as const);
  return { transactions: (count?.transactions ?? 0) - later.length, touched: before };
}
