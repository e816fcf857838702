import { bind, statement, type Database } from '@banking/postgres';
import { PAYOUT } from '../open-payouts.js';
import { COUNT_PARKED } from './work-status.js';

/** Names a piece of work. */
export interface WorkName {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
}

/** Which parked work is released; all of it, when nothing is named. */
export interface ParkedFilter {
  readonly kind?: string | undefined;
  readonly workspaceId?: number | undefined;
}

/** How many pieces are released in one database transaction. */
const BATCH = 500;
/** How many released pieces become due in a second. */
const PER_SECOND = 100;

const NOW = statement<{ now: string }>('retry_began_at', 'select statement_timestamp()::text as now');
/** A range of `work_by_parking`. What is parked again meanwhile is left out, so that there is an end. */
export const LIST_BATCH = statement<{ workspace_id: bigint; subject_id: bigint }>(
  'list_parked_batch',
  `select workspace_id, subject_id
   from work
   where kind = $1 and parked_at is not null and parked_at <= $2 and ($3::bigint is null or workspace_id = $3)
   order by parked_at, workspace_id, subject_id
   limit ${BATCH}`,
);
/** Locked in the order of the key, before any payout is: as those do who end work. $4 pieces were released before. */
const RELEASE_WORK = statement<{ subject_id: bigint }>(
  'release_work',
  `with parked as (
     select w.workspace_id, w.kind, w.subject_id
     from work w join unnest($1::bigint[], $2::text[], $3::bigint[]) u(workspace_id, kind, subject_id)
       on (w.workspace_id, w.kind, w.subject_id) = (u.workspace_id, u.kind, u.subject_id)
     where w.parked_at is not null
     order by w.workspace_id, w.kind, w.subject_id
     for update of w
   ), spread as (
     select p.*, ($4::int + row_number() over () - 1) / ${PER_SECOND} as second from parked p
   )
   update work w set parked_at = null, tries = 0, delays = 0, reason = null,
                     due_at = clock_timestamp() + s.second * interval '1 s'
   from spread s
   where (w.workspace_id, w.kind, w.subject_id) = (s.workspace_id, s.kind, s.subject_id)
   returning w.subject_id`,
);
const RELEASE_PAYOUTS = statement(
  'release_payouts',
  `update payout p set status = 'due', parked_at = null, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::text[], $3::bigint[]) u(workspace_id, kind, subject_id)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.subject_id) and u.kind = '${PAYOUT}' and p.status = 'parked'`,
);

/** Puts parked work back into the queue, due now and with all its tries. Answers whether it was parked. */
export async function retryWork(database: Database, work: WorkName): Promise<boolean> {
  return (await release(database, [work], 0)) > 0;
}

/**
 * Puts all parked work back into the queue, with all its tries, a bounded batch in each database transaction. It becomes due at 100
 * pieces a second, so that what failed together does not come back together. Answers how many pieces were released.
 */
export async function retryParkedWork(database: Database, { kind, workspaceId }: ParkedFilter = {}): Promise<number> {
  const [parked, [began]] = await database.flight({}, [bind(COUNT_PARKED), bind(NOW)] as const);
  let released = 0;
  for (const one of parked.map((row) => row.kind).filter((name) => kind === undefined || name === kind)) {
    for (;;) {
      const [rows] = await database.flight({}, [bind(LIST_BATCH, one, began?.now, workspaceId)] as const);
      if (rows.length === 0) break;
      const batch = rows.map((row) => ({
        workspaceId: Number(row.workspace_id),
        kind: one,
        subjectId: Number(row.subject_id),
      }));
      released += await release(database, batch, released);
    }
  }
  return released;
}

async function release(database: Database, batch: readonly WorkName[], releasedBefore: number): Promise<number> {
  const names = [
    batch.map(({ workspaceId }) => workspaceId),
    batch.map(({ kind }) => kind),
    batch.map(({ subjectId }) => subjectId),
  ] as const;
  const workspaces = [...new Set(names[0])];
  const [released] = await database.flight({ workspaces }, [
    bind(RELEASE_WORK, ...names, releasedBefore),
    bind(RELEASE_PAYOUTS, ...names),
  ] as const);
  return released.length;
}
