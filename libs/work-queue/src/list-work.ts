import { bind, sqlStatement, type Database } from '@banking/postgres';

/** A piece of work as operators read it. */
export interface QueuedWork {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
  /** `parked` waits for an operator, `running` is claimed, `waiting` is due now or later. */
  readonly state: 'parked' | 'running' | 'waiting';
  /** Failed tries since the last success. The tenth parks. */
  readonly tries: number;
  /** Transient failures in a row, such as an unavailable database: they lengthen the delay and do not count as tries. */
  readonly delays: number;
  /** RFC 3339. While it is running, the time at which it became due. */
  readonly dueAt: string;
  readonly parkedAt?: string;
  /** Why the last try failed, or why the work is delayed. */
  readonly reason?: string;
}

interface WorkRow {
  workspace_id: bigint;
  kind: string;
  subject_id: bigint;
  state: QueuedWork['state'];
  tries: number;
  delays: number;
  due_at: string;
  parked_at: string | null;
  reason: string | null;
}

const COLUMNS = `w.workspace_id, w.kind, w.subject_id, w.tries, w.delays, w.reason, rfc3339(w.due_at) as due_at`;

/** By kind, in the order of `work_by_parking`: the longest parked first. */
export const LIST_PARKED = sqlStatement<WorkRow>(
  'list_parked_work',
  `select ${COLUMNS}, rfc3339(w.parked_at) as parked_at, 'parked' as state
   from work w
   where w.parked_at is not null
   order by w.kind, w.parked_at, w.workspace_id, w.subject_id
   limit $1`,
);
/** The head of each kind's range of `work_by_claim`. Each kind costs one index descent. */
export const LIST_UNPARKED = sqlStatement<WorkRow>(
  'list_unparked_work',
  `with recursive kinds(kind) as (
     (select kind from work where parked_at is null order by kind limit 1)
     union all
     select (select w.kind from work w where w.parked_at is null and w.kind > k.kind order by w.kind limit 1)
     from kinds k where k.kind is not null
   )
   select ${COLUMNS}, null as parked_at, case when w.leased_until > statement_timestamp() then 'running' else 'waiting' end as state
   from kinds k cross join lateral (
     select * from work
     where kind = k.kind and parked_at is null
     order by greatest(due_at, leased_until)
     limit $1
   ) w
   where k.kind is not null
   order by greatest(w.due_at, w.leased_until), w.workspace_id, w.kind, w.subject_id
   limit $1`,
);
/** Lists the queue, over all workspaces: parked work first, then the longest due. */
export async function listWork(
  database: Database,
  { isParked = false, limit = 100 }: { readonly isParked?: boolean; readonly limit?: number } = {},
): Promise<QueuedWork[]> {
  const [parked] = await database.pipeline({}, [bind(LIST_PARKED, limit)] as const);
  const left = limit - parked.length;
  const [others] = isParked || left === 0 ? [[]] : await database.pipeline({}, [bind(LIST_UNPARKED, left)] as const);
  return [...parked, ...others].map(queuedWorkOf);
}

function queuedWorkOf({ workspace_id, subject_id, due_at, parked_at, reason, ...rest }: WorkRow): QueuedWork {
  return {
    workspaceId: Number(workspace_id),
    kind: rest.kind,
    subjectId: Number(subject_id),
    state: rest.state,
    tries: rest.tries,
    delays: rest.delays,
    dueAt: due_at,
    ...(parked_at === null ? {} : { parkedAt: parked_at }),
    ...(reason === null ? {} : { reason }),
  };
}
