import { bind, type Database, sqlStatement } from '@banking/postgres';
import { COUNT_PARKED, LIST_PARKED_BATCH, releaseWork, type WorkKey } from '@banking/work-queue';
import { type NoteChanges, type NotedChange, PAYOUT } from './open-payouts.js';

/** The parked work to release. Without a filter: all of it. */
export interface ParkedFilter {
  readonly kind?: string | undefined;
  readonly workspaceId?: number | undefined;
}

const NOW = sqlStatement<{ now: string }>('release_began_at', 'select statement_timestamp()::text as now');

const RELEASE_PAYOUTS = sqlStatement(
  'release_payouts',
  `update payout p set status = 'due', parked_at = null, accepted_at = case when not $3 then p.accepted_at end, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id)
     and (p.status = 'parked' or $3 and p.status = 'due')`,
);

/**
 * Releases one piece of parked work of any kind, due now and with all its tries. Returns whether it was parked.
 *
 * @param isSubmittedAgain of a payout that the network had accepted: whether the bank has said that it does not have the payment
 */
export async function releaseParkedWork(
  database: Database,
  work: WorkKey,
  note?: NoteChanges,
  isSubmittedAgain = false,
): Promise<boolean> {
  return (await release(database, [work], 0, note, isSubmittedAgain)) > 0;
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
  isSubmittedAgain = false,
): Promise<number> {
  const workspaces = [...new Set(batch.map(({ workspaceId }) => workspaceId))];
  return database.transaction({ workspaces, actorType: 'operator' }, async (tx) => {
    const [rows] = await tx.pipeline([releaseWork(batch, releasedBefore)] as const);
    const ids = new Set(rows.map((row) => Number(row.subject_id)));
    const released = batch.filter(({ subjectId }) => ids.has(subjectId));
    const payouts = released.filter(({ kind }) => kind === PAYOUT);
    await tx.commit([
      bind(
        RELEASE_PAYOUTS,
        payouts.map(({ workspaceId }) => workspaceId),
        payouts.map(({ subjectId }) => subjectId),
        isSubmittedAgain,
      ),
      ...(note && released.length > 0 ? [note(released.map((work) => changeOf(work, isSubmittedAgain)))] : []),
    ]);
    return released.length;
  });
}

const changeOf = ({ workspaceId, kind, subjectId: id }: WorkKey, isSubmittedAgain: boolean): NotedChange => ({
  workspaceId,
  operation: isSubmittedAgain && kind === PAYOUT ? 'submitPayoutAgain' : 'releaseWork',
  resource: { type: kind, id },
});

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
    await tx.commit(note && held.length > 0 ? [note(held.map(parkedChangeOf))] : []);
    return held;
  });
}

const keyOf = ({ workspace_id, kind, subject_id }: WorkRow): WorkKey => ({
  workspaceId: Number(workspace_id),
  kind,
  subjectId: Number(subject_id),
});

const parkedChangeOf = ({ workspaceId, kind, subjectId: id }: WorkKey): NotedChange => ({
  workspaceId,
  operation: 'parkWork',
  resource: { type: kind, id },
});
