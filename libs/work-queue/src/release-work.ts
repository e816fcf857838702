import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';

/** The key of a piece of work. */
export interface WorkKey {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
}

/** How many pieces are released in one database transaction. */
const BATCH_SIZE = 500;
/** How many released pieces become due in a second, so that work that failed together is not retried together. */
export const DUE_PER_SECOND = 100;

/** A range of `work_by_parking`. Work parked after the start is left out, so that the batches come to an end. */
export const LIST_PARKED_BATCH = sqlStatement<{ workspace_id: bigint; subject_id: bigint }>(
  'list_parked_batch',
  `select workspace_id, subject_id
   from work
   where kind = $1 and parked_at is not null and parked_at <= $2 and ($3::bigint is null or workspace_id = $3)
   order by parked_at, workspace_id, subject_id
   limit ${BATCH_SIZE}`,
);
/** Locks in the order of the key, before any payout, as the end of work does. $4 pieces were released before. */
const RELEASE_WORK = sqlStatement<{ subject_id: bigint }>(
  'release_work',
  `with parked as (
     select w.workspace_id, w.kind, w.subject_id
     from work w join unnest($1::bigint[], $2::text[], $3::bigint[]) u(workspace_id, kind, subject_id)
       on (w.workspace_id, w.kind, w.subject_id) = (u.workspace_id, u.kind, u.subject_id)
     where w.parked_at is not null
     order by w.workspace_id, w.kind, w.subject_id
     for update of w
   ), spread as (
     select p.*, ($4::int + row_number() over () - 1) / ${DUE_PER_SECOND} as second from parked p
   )
   update work w set parked_at = null, tries = 0, delays = 0, reason = null,
                     due_at = clock_timestamp() + s.second * interval '1 s'
   from spread s
   where (w.workspace_id, w.kind, w.subject_id) = (s.workspace_id, s.kind, s.subject_id)
   returning w.subject_id`,
);

/**
 * The write that releases parked work with all its tries. Returns a row for each piece that was parked.
 *
 * @param releasedBefore pieces released in batches before this one, which are due first
 */
export function releaseWork(keys: readonly WorkKey[], releasedBefore = 0): BoundStatement<{ subject_id: bigint }> {
  return bind(
    RELEASE_WORK,
    keys.map(({ workspaceId }) => workspaceId),
    keys.map(({ kind }) => kind),
    keys.map(({ subjectId }) => subjectId),
    releasedBefore,
  );
}
