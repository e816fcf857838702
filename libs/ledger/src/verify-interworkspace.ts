import { bind, sqlStatement, type Database, type DbTransaction } from '@banking/postgres';
import { currencyCode } from './own-accounts.js';
import { RANGE_ROWS, type RangeOptions } from './ranges.js';

export const INTERWORKSPACE_CHECK = 'interworkspace balances sum to zero over all workspaces in every currency';

/** How many pairs a finding names, per currency. */
const NAMED_MAX = 20;
const SETTLE_POLL_MS = 20;
const SETTLE_MAX_MS = 10_000;

const NOW = sqlStatement<{ at: string; next_xid: string }>(
  'interworkspace_now',
  `select rfc3339(clock_timestamp()) as at, pg_snapshot_xmax(pg_current_snapshot())::text as next_xid`,
);
const IS_SETTLED = sqlStatement<{ is_settled: boolean }>(
  'interworkspace_settled',
  `select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as is_settled`,
);

/**
 * An instant before which no row is added any more: all writes of that time are committed or rolled back. One statement inserts both
 * sides of a payment between workspaces, so both have the same time and the instant never separates them.
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
export interface InterworkspaceSum {
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
   from account a join transfer t on t.workspace_id = a.workspace_id and t.account_id = a.id
   where a.workspace_id = any($1::bigint[]) and a.kind = 'interworkspace'
     and t.transaction_id > $2 and t.transaction_id <= $3 and t.created_at <= $4::timestamptz`,
);

/** The findings between workspaces: none if the sums are zero in every currency. */
export async function findInterworkspaceDifferences(
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
