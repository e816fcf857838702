import { minorUnits } from '@banking/domain';
import { BatchedCalls, bind, sqlStatement, type Database } from '@banking/postgres';
import type { Claim } from '@banking/work-queue';
import type { SubmittedCrossing } from './crossing-port.js';

/** A crossing with its state. */
export interface StoredCrossing extends SubmittedCrossing {
  readonly status: 'due' | 'completed' | 'returned';
}

interface CrossingRow {
  /** In the list, from 1. */
  readonly position: number;
  readonly key_nonce: string;
  readonly account_code: string;
  readonly currency_id: number;
  readonly amount: bigint;
  readonly status: StoredCrossing['status'];
  readonly type: string;
  readonly description: string | null;
}

/** Each `offset 0` keeps its subquery one index search for each crossing, whatever the planner knows of the tables. */
const READ_CROSSINGS = sqlStatement<CrossingRow>(
  'read_crossings',
  `select u.position::int, c.key_nonce, c.account_code, c.currency_id, c.amount, c.status, t.type, t.description
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(workspace_id, transaction_id, position)
   cross join lateral (
     select * from crossing c where c.workspace_id = u.workspace_id and c.transaction_id = u.transaction_id offset 0
   ) c
   cross join lateral (
     select t.type, t.description from transfer t
     where t.workspace_id = u.workspace_id and t.transaction_id = u.transaction_id and t.direction = 'credit'
       and (select o.kind from account o where o.workspace_id = t.workspace_id and o.id = t.account_id) = 'interworkspace'
     offset 0
   ) t`,
);

/** Reads the crossing of a claim. Reads at the same time share one statement. @throws Error for a transaction without one */
export function crossingReader(database: Database): (claim: Claim) => Promise<StoredCrossing> {
  const reads = new BatchedCalls((claims: readonly Claim[]) => readCrossings(database, claims));
  return async (claim) => {
    const crossing = await reads.call(claim);
    if (!crossing) throw new Error(`transaction ${claim.subjectId} has no crossing`);
    return crossing;
  };
}

async function readCrossings(
  database: Database,
  claims: readonly Claim[],
): Promise<readonly (StoredCrossing | undefined)[]> {
  const workspaces = claims.map(({ workspaceId }) => workspaceId);
  const transactions = claims.map(({ subjectId }) => subjectId);
  const [rows] = await database.pipeline({ workspaces: [...new Set(workspaces)] }, [
    bind(READ_CROSSINGS, workspaces, transactions),
  ] as const);
  const found = new Map(rows.map((row) => [row.position, row]));
  return claims.map(({ workspaceId, subjectId }, index) => {
    const row = found.get(index + 1);
    return (
      row && {
        originWorkspaceId: workspaceId,
        originTransactionId: subjectId,
        keyNonce: row.key_nonce,
        accountCode: row.account_code,
        currencyId: row.currency_id,
        amount: minorUnits(row.amount),
        status: row.status,
        type: row.type,
        description: row.description ?? undefined,
      }
    );
  });
}
