import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { StoredRows } from './verify-stored.js';

/** A transaction that was posted since the last verification. A later INSERT of transfers into it is another row. */
export interface UnverifiedTransaction {
  readonly workspaceId: number;
  readonly transactionId: number;
  /** The first transfer of the INSERT. */
  readonly transferId: number;
}

interface UnverifiedRow {
  workspace_id: bigint;
  transaction_id: bigint;
  transfer_id: bigint;
}

export const NEXT_UNVERIFIED = sqlStatement<UnverifiedRow>(
  'next_unverified',
  `select workspace_id, transaction_id, transfer_id from unverified_transaction
   where (workspace_id, transaction_id, transfer_id) > ($1::bigint, $2::bigint, $3::bigint)
   order by workspace_id, transaction_id, transfer_id limit $4`,
);
/** The rows that were verified, and no row that was inserted meanwhile. */
export const DELETE_VERIFIED = sqlStatement(
  'delete_verified',
  `delete from unverified_transaction v
   using unnest($1::bigint[], $2::bigint[], $3::bigint[]) u(workspace_id, transaction_id, transfer_id)
   where (v.workspace_id, v.transaction_id, v.transfer_id) = (u.workspace_id, u.transaction_id, u.transfer_id)`,
);

/**
 * The next unverified transactions over all workspaces. Every row that was committed is found, however late, because a row is deleted
 * only after it was verified.
 *
 * @param after where the batch before ended: index entries of deleted rows are not read again
 */
export async function nextUnverified(
  database: Database,
  after: UnverifiedTransaction,
  limit: number,
): Promise<UnverifiedTransaction[]> {
  const { workspaceId, transactionId, transferId } = after;
  const query = bind(NEXT_UNVERIFIED, workspaceId, transactionId, transferId, limit);
  const [rows] = await database.pipeline({}, [query] as const);
  return rows.map((row) => ({
    workspaceId: Number(row.workspace_id),
    transactionId: Number(row.transaction_id),
    transferId: Number(row.transfer_id),
  }));
}

export async function deleteVerified(database: Database, batch: readonly UnverifiedTransaction[]): Promise<void> {
  const columns = [
    batch.map(({ workspaceId }) => workspaceId),
    batch.map(({ transactionId }) => transactionId),
    batch.map(({ transferId }) => transferId),
  ];
  await database.pipeline({}, [bind(DELETE_VERIFIED, ...columns)]);
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
