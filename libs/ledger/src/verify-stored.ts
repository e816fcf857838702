import { bind, type Database, type DbTransaction, sqlStatement } from '@banking/postgres';
import { bookedOf, type BookedTransaction, readBooked } from './booked-transactions.js';
import {
  findAccountFaults,
  type Finding,
  findMisfits,
  findStepFaults,
  LEGS_CHECK,
  noteRows,
  type ReportFinding,
  verifyTransaction,
  type VersionRange,
} from './verify-chain.js';

/** A transaction that was posted since the last verification. Transfers that are added to it later are another posting. */
interface UnverifiedTransaction {
  /** One INSERT of transfers. */
  readonly postingId: number;
  readonly workspaceId: number;
  readonly transactionId: number;
}

/** Transactions of whole postings. */
interface UnverifiedBatch {
  readonly transactions: readonly UnverifiedTransaction[];
  /** Whether postings follow that the batch leaves out. */
  readonly hasMore: boolean;
}

interface UnverifiedRow {
  posting_id: bigint;
  workspace_id: bigint;
  transaction_id: bigint;
  has_more: boolean;
}

/** Reads posting after posting, up to `$2` transactions, and no posting more. Leaves out postings of the workspaces `$3`. */
export const NEXT_UNVERIFIED = sqlStatement<UnverifiedRow>(
  'next_unverified',
  `with recursive walk as (
     (select id, workspace_ids, transaction_ids, cardinality(transaction_ids) as transactions
      from unverified_posting p where id > $1::bigint and not p.workspace_ids && $3::bigint[] order by id limit 1)
     union all
     select n.id, n.workspace_ids, n.transaction_ids, w.transactions + cardinality(n.transaction_ids)
     from walk w cross join lateral (
       select * from unverified_posting p where p.id > w.id and not p.workspace_ids && $3::bigint[] order by p.id limit 1) n
     where w.transactions + cardinality(n.transaction_ids) <= $2::int)
   select w.id as posting_id, u.workspace_id, u.transaction_id,
          exists (select from unverified_posting p where p.id > (select max(id) from walk) and not p.workspace_ids && $3::bigint[]) as has_more
   from walk w cross join lateral unnest(w.workspace_ids, w.transaction_ids) u(workspace_id, transaction_id)
   order by 1, 2, 3`,
);

/** The rows that were verified, and no row that was inserted meanwhile. */
export const DELETE_VERIFIED = sqlStatement(
  'delete_verified',
  'delete from unverified_posting where id = any($1::bigint[])',
);

/**
 * The next unverified transactions over all workspaces. Every posting that was committed is found, however late,
 * because its row is deleted only after it was verified.
 *
 * @param afterId where the batch before ended: index entries of deleted rows are not read again
 * @param limit transactions; a posting of more is a batch of its own
 * @param except workspaces that another of several databases verifies
 */
export async function nextUnverified(
  database: Database,
  afterId: number,
  limit: number,
  except: readonly number[] = [],
): Promise<UnverifiedBatch> {
  const [rows] = await database.pipeline({}, [bind(NEXT_UNVERIFIED, afterId, limit, except)] as const);
  const transactions = rows.map((row) => ({
    postingId: Number(row.posting_id),
    workspaceId: Number(row.workspace_id),
    transactionId: Number(row.transaction_id),
  }));
  return { transactions, hasMore: rows[0]?.has_more === true };
}

/** Takes whole postings, as `nextUnverified` returns them. */
export async function deleteVerified(database: Database, batch: readonly UnverifiedTransaction[]): Promise<void> {
  const ids = [...new Set(batch.map(({ postingId }) => postingId))];
  await database.pipeline({}, [bind(DELETE_VERIFIED, ids)]);
}

/** Transactions by workspace, each once. */
export function transactionsByWorkspace(batch: readonly UnverifiedTransaction[]): StoredRows[] {
  const ids = new Map<number, Set<number>>();
  for (const { workspaceId, transactionId } of batch) {
    const known = ids.get(workspaceId) ?? new Set();
    ids.set(workspaceId, known.add(transactionId));
  }
  return [...ids].map(([workspaceId, transactionIds]) => ({ workspaceId, transactionIds: [...transactionIds] }));
}

/** Stored transactions and accounts of a workspace. */
export interface StoredRows {
  readonly workspaceId: number;
  readonly transactionIds: readonly number[];
  /** Accounts to verify besides those of the transactions. */
  readonly accountIds?: readonly number[];
}

/** Held to the end of the database transaction, so that it works with transaction pooling and ends with its session. */
const TRY_VERIFYING = sqlStatement<{ is_ours: boolean }>(
  'try_verifying',
  `select pg_try_advisory_xact_lock(hashtextextended('banking.verification', 0)) as is_ours`,
);

/**
 * Proves transactions and the accounts that they touched, as `verifyBooks` does, all in one snapshot: their content and hashes, each of
 * their transfers continued from the one before, and their accounts compared with the last transfer.
 *
 * @returns the findings; undefined if another process is verifying
 */
export async function verifyStored(
  database: Database,
  stored: readonly StoredRows[],
): Promise<readonly Finding[] | undefined> {
  const scope = { workspaces: stored.map(({ workspaceId }) => workspaceId) };
  return database.transaction(
    scope,
    async (tx) => {
      const [[lock]] = await tx.pipeline([bind(TRY_VERIFYING)] as const);
      return lock?.is_ours === true ? verifyUnderLock(tx, stored) : undefined;
    },
    { snapshot: true },
  );
}

async function verifyUnderLock(tx: DbTransaction, stored: readonly StoredRows[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  const noteIn =
    (workspaceId: number): ReportFinding =>
    (check, detail) =>
      findings.push({ check, workspaceId, detail });

  const booked = await tx.pipeline(
    stored.map(({ workspaceId, transactionIds }) => readBooked(workspaceId, transactionIds)),
  );
  const queries = stored.flatMap(({ workspaceId, transactionIds, accountIds = [] }, index) => {
    const note = noteIn(workspaceId);
    const found = new Set(booked[index]!.map(({ id }) => Number(id)));
    for (const id of transactionIds) if (!found.has(id)) note(LEGS_CHECK, `transaction ${id} is not stored`);
    const transactions = booked[index]!.map((row) => bookedOf(workspaceId, row));
    for (const transaction of transactions) verifyTransaction(transaction, note);

    const { ranges, kinds } = touchedBy(transactions);
    const accounts = new Set([...accountIds, ...ranges.map(({ accountId }) => accountId)]);
    return [
      { note, query: findStepFaults(workspaceId, ranges) },
      { note, query: findMisfits(workspaceId, kinds) },
      { note, query: findAccountFaults(workspaceId, [...accounts]) },
    ];
  });
  const faults = await tx.pipeline(queries.map(({ query }) => query));
  queries.forEach(({ note }, index) => noteRows(faults[index]!, note));
  return findings;
}

/** The versions that transactions wrote on each customer account, and whether they wrote versions on each account. */
function touchedBy(transactions: readonly BookedTransaction[]) {
  const ranges = new Map<number, VersionRange>();
  const kinds = new Map<string, { readonly accountId: number; readonly isVersioned: boolean }>();
  for (const { accountId, accountVersion } of transactions.flatMap(({ content }) => content.transfers)) {
    const isVersioned = accountVersion !== undefined;
    kinds.set(`${accountId} ${isVersioned}`, { accountId, isVersioned });
    if (!isVersioned) continue;
    const { first, last } = ranges.get(accountId) ?? { first: accountVersion, last: accountVersion };
    ranges.set(accountId, { accountId, first: Math.min(first, accountVersion), last: Math.max(last, accountVersion) });
  }
  return { ranges: [...ranges.values()], kinds: [...kinds.values()] };
}
