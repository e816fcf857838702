import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { WorkKey } from '@banking/work-queue';
import type { NoteChanges, NotedChange } from './note-changes.js';
import { PAYOUT } from './open-payouts.js';

interface WorkRow {
  workspace_id: bigint;
  kind: string;
  subject_id: bigint;
}

/** A payment that the books do not have. */
interface LostPayment {
  readonly workspaceId: number;
  /** RFC 3339. */
  readonly acceptedAt?: string;
}

/** Work released later is due later than the payment, so it is not held again. */
const LATE_WORK = `
  work w join unnest($1::bigint[], $2::timestamptz[]) u(workspace_id, accepted_at) on w.workspace_id = u.workspace_id
  where w.kind <> '${PAYOUT}' and w.parked_at is null and w.due_at <= u.accepted_at`;
const LIST_LATE_WORK = sqlStatement<WorkRow>(
  'list_late_work',
  `select w.workspace_id, w.kind, w.subject_id from ${LATE_WORK} order by 1, 2, 3`,
);
const PARK_LATE_WORK = sqlStatement<WorkRow>(
  'park_late_work',
  `with late as (select w.workspace_id, w.kind, w.subject_id from ${LATE_WORK} for update of w)
   update work w set parked_at = clock_timestamp(), leased_until = null,
                     reason = 'it may have made a payment that the books do not have: see banking work reconcile'
   from late l where (w.workspace_id, w.kind, w.subject_id) = (l.workspace_id, l.kind, l.subject_id)
   returning w.workspace_id, w.kind, w.subject_id`,
);

/**
 * Parks work that was due before a payment which the books do not have, such as the run of a monthly order. The lost books may have done
 * it, and then the network would pay twice. Unless it is applied, only lists the work.
 *
 * @param note writes the parked work to the audit trail, in the database transaction of the change
 */
export async function holdLateWork(
  database: Database,
  lost: readonly LostPayment[],
  isApplied: boolean,
  note?: NoteChanges,
): Promise<readonly WorkKey[]> {
  const last = new Map<number, string>();
  for (const { workspaceId, acceptedAt = '' } of lost) {
    if (acceptedAt > (last.get(workspaceId) ?? '')) last.set(workspaceId, acceptedAt);
  }
  if (last.size === 0) return [];
  const columns = [[...last.keys()], [...last.values()]] as const;
  if (!isApplied) {
    const [rows] = await database.pipeline({}, [bind(LIST_LATE_WORK, ...columns)] as const);
    return rows.map(keyOf);
  }
  return database.transaction({ workspaces: [...last.keys()], actorType: 'operator' }, async (tx) => {
    const [rows] = await tx.pipeline([bind(PARK_LATE_WORK, ...columns)] as const);
    const held = rows.map(keyOf);
    await tx.commit(note && held.length > 0 ? [note(held.map(changeOf))] : []);
    return held;
  });
}

const keyOf = ({ workspace_id, kind, subject_id }: WorkRow): WorkKey => ({
  workspaceId: Number(workspace_id),
  kind,
  subjectId: Number(subject_id),
});

const changeOf = ({ workspaceId, kind, subjectId: id }: WorkKey): NotedChange => ({
  workspaceId,
  operation: 'parkWork',
  resource: { type: kind, id },
});
