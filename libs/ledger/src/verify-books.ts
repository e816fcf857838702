import { bind, type Database, type DbTransaction, sqlStatement } from '@banking/postgres';
import { booksAt } from './books-at.js';
import { currencyCode } from './books.js';
import { ownSums } from './own-sums.js';
import { RANGE_ROWS, type RangeOptions } from './ranges.js';
import {
  BALANCE_CHECK,
  BALANCED_CHECK,
  BELOW_ZERO_CHECK,
  type Finding,
  HASH_CHECK,
  LEGS_CHECK,
  type ReportFinding,
  verifyAccounts,
  verifyTransactions,
  VERSION_CHECK,
} from './verify-chain.js';

/** The sum of a workspace's `fx` account in a currency: what conversions took in less what they paid out. */
interface FxPosition {
  readonly workspaceId: number;
  readonly currencyCode: string;
  /** Digits in minor units, with a minus sign below zero. */
  readonly amount: string;
}

/** The result of a verification. */
export interface VerificationReport {
  readonly workspaces: number;
  readonly accounts: number;
  readonly transactions: number;
  readonly transfers: number;
  /** For information: a position is no finding. */
  readonly fxPositions: readonly FxPosition[];
  readonly findings: readonly Finding[];
}

export interface VerifyOptions extends RangeOptions {
  /** Whether these are all workspaces. Their debts to each other must sum to zero then. Default false. */
  readonly isWhole?: boolean | undefined;
  /** Called for each workspace after its books are proved. */
  readonly onWorkspace?: ((workspaceId: number) => void) | undefined;
}

const CLOSED_CHECK = 'the books of a workspace sum to zero in every currency';

/**
 * Proves the books of the given workspaces from their rows alone, and recomputes every hash.
 *
 * Reads in ranges, each in a database transaction of its own, so that no snapshot outlives a range. Postings may go on: sums over a
 * workspace are as of the version that each account had at the start, and all else is compared within one snapshot, with rows that
 * never change.
 */
export async function verifyBooks(
  database: Database,
  workspaceIds: readonly number[],
  options: VerifyOptions = {},
): Promise<VerificationReport> {
  const findings: Finding[] = [];
  const fxPositions: FxPosition[] = [];
  const owed: InterworkspaceSum[] = [];
  const counts = { accounts: 0, transactions: 0, transfers: 0 };
  const byTime = options.isWhole ? await settledInstant(database) : undefined;
  for (const workspaceId of workspaceIds) {
    const note: ReportFinding = (check, detail) => findings.push({ check, workspaceId, detail });
    const books = await booksAt(database, workspaceId);
    const { transactions, transfers, sums, misfits } = await ownSums(database, books, byTime, options);
    counts.accounts += books.accounts;
    counts.transactions += transactions;
    counts.transfers += transfers;

    for (const id of misfits) note(VERSION_CHECK, `account ${id} has transfers that do not fit its kind`);
    const held = new Map(books.held);
    for (const { accountId, currencyId, amount, amountByTime } of sums) {
      held.set(currencyId, (held.get(currencyId) ?? 0n) + amount);
      const kind = books.ownAccounts.get(accountId)?.kind;
      if (kind === 'fx') fxPositions.push({ workspaceId, currencyCode: currencyCode(currencyId), amount: `${amount}` });
      if (kind === 'interworkspace') owed.push({ workspaceId, currencyId, amount: amountByTime });
    }
    await verifyAccounts(database, workspaceId, note, options);
    await verifyTransactions(database, workspaceId, note, options);
    for (const [currencyId, sum] of held) {
      if (sum !== 0n) note(CLOSED_CHECK, `currency ${currencyId} is out by ${sum}`);
    }
    options.onWorkspace?.(workspaceId);
  }
  if (options.isWhole) {
    const differences = await findInterworkspaceDifferences(database, workspaceIds, owed, options);
    for (const detail of differences) findings.push({ check: INTERWORKSPACE_CHECK, detail });
  }
  fxPositions.sort((a, b) => a.workspaceId - b.workspaceId || a.currencyCode.localeCompare(b.currencyCode));
  return { workspaces: workspaceIds.length, ...counts, fxPositions, findings };
}

/** What `verifyBooks` proves of each workspace, for reports. */
export const CHECKS: readonly string[] = [
  BALANCED_CHECK,
  LEGS_CHECK,
  BALANCE_CHECK,
  VERSION_CHECK,
  BELOW_ZERO_CHECK,
  CLOSED_CHECK,
  HASH_CHECK,
];

export const INTERWORKSPACE_CHECK = 'interworkspace balances sum to zero over all workspaces in every currency';

/** How many pairs a finding names, per currency. */
const NAMED_MAX = 20;

const SETTLE_POLL_MS = 20;
const SETTLE_MAX_MS = 10_000;

const NOW = sqlStatement<{ at: string; next_xid: string }>(
  'interworkspace_now',
  `select rfc3339(clock_timestamp() - interval '1 second') as at, pg_snapshot_xmax(pg_current_snapshot())::text as next_xid`,
);

const IS_SETTLED = sqlStatement<{ is_settled: boolean }>(
  'interworkspace_settled',
  `select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as is_settled`,
);

/**
 * An instant before which no row is added any more: all writes of that time are committed or rolled back. One statement inserts both
 * sides of a payment between workspaces, so both have the same time and the instant never separates them. It is a second ago: so old may the
 * time of a payment be when it is written.
 */
export async function settledInstant(database: Database): Promise<string> {
  const now = await database.read({}, bind(NOW));
  for (let waited = 0; waited < SETTLE_MAX_MS; waited += SETTLE_POLL_MS) {
    const row = await database.read({}, bind(IS_SETTLED, now!.next_xid));
    if (row?.is_settled) break;
    await new Promise((done) => setTimeout(done, SETTLE_POLL_MS));
  }
  return now!.at;
}

/** The sum of one workspace's `interworkspace` accounts by the settled instant. */
interface InterworkspaceSum {
  readonly workspaceId: number;
  readonly currencyId: number;
  readonly amount: bigint;
}

interface Side {
  readonly workspace_id: bigint;
  readonly transaction_id: bigint;
  readonly currency_id: number;
  /** Digits. */
  readonly moved: string;
  readonly created_at: string;
}

const ALL_TRANSACTIONS_END = sqlStatement<{ upto: bigint | null; rows: number }>(
  'interworkspace_range',
  `select max(id) as upto, count(*)::int as rows
   from (select x.id from unnest($1::bigint[]) w(id), lateral (
           select id from transaction where workspace_id = w.id and id > $2 order by id limit $3) x
         order by x.id limit $3) r`,
);

const SIDES = sqlStatement<Side>(
  'interworkspace_sides',
  `select t.workspace_id, t.transaction_id, t.currency_id, rfc3339(t.created_at) as created_at,
          case t.direction when 'credit' then t.amount else -t.amount end as moved
   from account a join leg t on t.workspace_id = a.workspace_id and t.account_id = a.id
   where a.workspace_id = any($1::bigint[]) and t.workspace_id = any($1::bigint[]) and a.kind = 'interworkspace'
     and t.transaction_id > $2 and t.transaction_id <= $3 and t.created_at <= $4::timestamptz`,
);

/** The findings between workspaces: none if the sums are zero in every currency. */
async function findInterworkspaceDifferences(
  database: Database,
  workspaceIds: readonly number[],
  sums: readonly InterworkspaceSum[],
  options: RangeOptions,
): Promise<string[]> {
  const currencies = grouped(sums, ({ currencyId }) => currencyId);
  const out = [...currencies].filter(([, list]) => list.reduce((sum, { amount }) => sum + amount, 0n) !== 0n);
  if (out.length === 0) return [];
  // Only a payment whose sides differ is a finding. Otherwise a side was missing from the first read only.
  const unpaired = await unpairedSides(database, workspaceIds, options);
  return out.flatMap(([currencyId, list]) => {
    const sides = unpaired.filter(({ currency_id }) => currency_id === currencyId);
    if (sides.length === 0) return [];
    const code = currencyCode(currencyId);
    const total = list.reduce((sum, { amount }) => sum + amount, 0n);
    const held = list.map(({ workspaceId, amount }) => `${amount} in workspace ${workspaceId}`).join(', ');
    return [
      `interworkspace accounts are out by ${total} ${code}: ${held}`,
      ...[...grouped(sides, ({ created_at }) => created_at)].slice(0, NAMED_MAX).map(([createdAt, pair]) => {
        const named = pair.map(
          (side) => `${side.moved} in transaction ${side.transaction_id} of workspace ${side.workspace_id}`,
        );
        return `interworkspace transfers of ${createdAt} in ${code} do not sum to zero: ${named.join(', ')}`;
      }),
    ];
  });
}

/** Finds sides of payments between workspaces that do not sum to zero with the other rows of their statement. */
async function unpairedSides(
  database: Database,
  workspaceIds: readonly number[],
  { rangeRows = RANGE_ROWS, onRange }: RangeOptions,
): Promise<readonly Side[]> {
  const byTime = await settledInstant(database);
  const open = new Map<string, Side[]>();
  let after = 0n;
  for (let done = 0; ;) {
    const work = async (tx: DbTransaction) => {
      const [[end]] = await tx.pipeline([bind(ALL_TRANSACTIONS_END, workspaceIds, after, rangeRows)] as const);
      const [sides] = await tx.pipeline([bind(SIDES, workspaceIds, after, end?.upto ?? after, byTime)] as const);
      return { end, sides };
    };
    const { end, sides } = await database.transaction({ workspaces: workspaceIds }, work, { snapshot: true });
    for (const [key, group] of grouped(sides, (side) => `${side.currency_id}/${side.created_at}`)) {
      open.set(key, [...(open.get(key) ?? []), ...group]);
    }
    for (const [key, group] of open) {
      if (group.reduce((sum, { moved }) => sum + BigInt(moved), 0n) === 0n) open.delete(key);
    }
    if (!end || end.upto === null) break;
    after = end.upto;
    done += end.rows;
    await onRange?.({ workspaceId: 0, reading: 'interworkspace transfers', done });
    if (end.rows < rangeRows) break;
  }
  return [...open.values()].flat();
}

function grouped<Key, Item>(items: readonly Item[], keyOf: (item: Item) => Key): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
