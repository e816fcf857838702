import { bind, sqlStatement, type Database } from '@banking/postgres';
import { COUNT_PARKED, LIST_PARKED_BATCH, releaseWork, type WorkKey } from '@banking/work-queue';
import type { NoteChanges, NotedChange } from './note-changes.js';
import { PAYOUT } from './open-payouts.js';

/** The parked work to release. Without a filter: all of it. */
export interface ParkedFilter {
  readonly kind?: string | undefined;
  readonly workspaceId?: number | undefined;
}

const NOW = sqlStatement<{ now: string }>('release_began_at', 'select statement_timestamp()::text as now');
const RELEASE_PAYOUTS = sqlStatement(
  'release_payouts',
  `update payout p set status = 'due', parked_at = null, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) and p.status = 'parked'`,
);

/** Releases one piece of parked work of any kind, due now and with all its tries. Returns whether it was parked. */
export async function releaseParkedWork(database: Database, work: WorkKey, note?: NoteChanges): Promise<boolean> {
  return (await release(database, [work], 0, note)) > 0;
}

/**
 * Releases all parked work with all its tries, a bounded batch in each database transaction. It becomes due at 100 pieces a second, so
 * that work that failed together is not retried together. Returns how many pieces were released.
 */
export async function releaseAllParkedWork(
  database: Database,
  { kind, workspaceId }: ParkedFilter = {},
  note?: NoteChanges,
): Promise<number> {
  const [parked, [began]] = await database.pipeline({}, [bind(COUNT_PARKED), bind(NOW)] as const);
  let released = 0;
  for (const one of parked.map((row) => row.kind).filter((name) => kind === undefined || name === kind)) {
    for (;;) {
      const [rows] = await database.pipeline({}, [bind(LIST_PARKED_BATCH, one, began?.now, workspaceId)] as const);
      if (rows.length === 0) break;
      const batch = rows.map((row) => ({
        workspaceId: Number(row.workspace_id),
        kind: one,
        subjectId: Number(row.subject_id),
      }));
      released += await release(database, batch, released, note);
    }
  }
  return released;
}

/** A payout and its work are released together. */
async function release(
  database: Database,
  batch: readonly WorkKey[],
  releasedBefore: number,
  note: NoteChanges | undefined,
): Promise<number> {
  const payouts = batch.filter(({ kind }) => kind === PAYOUT);
  const workspaces = [...new Set(batch.map(({ workspaceId }) => workspaceId))];
  return database.transaction({ workspaces, actorType: 'operator' }, async (tx) => {
    const [released] = await tx.pipeline([
      releaseWork(batch, releasedBefore),
      bind(
        RELEASE_PAYOUTS,
        payouts.map(({ workspaceId }) => workspaceId),
        payouts.map(({ subjectId }) => subjectId),
      ),
    ] as const);
    const ids = new Set(released.map((row) => Number(row.subject_id)));
    const changes = batch.filter(({ subjectId }) => ids.has(subjectId)).map(changeOf);
    await tx.commit(note && changes.length > 0 ? [note(changes)] : []);
    return released.length;
  });
}

const changeOf = ({ workspaceId, kind, subjectId: id }: WorkKey): NotedChange => ({
  workspaceId,
  operation: 'releaseWork',
  resource: { type: kind, id },
});
