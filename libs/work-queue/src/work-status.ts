import { bind, type Database, sqlStatement } from '@banking/postgres';

/** The state of the queue in numbers; for health checks. */
export interface WorkStatus {
  /** Pieces of parked work by kind, counted up to 1,000 each. Kinds without any are left out. */
  readonly parked: Readonly<Record<string, number>>;
  /** Pieces of due work by kind, of the kinds that this worker does not do, counted up to 1,000 each. Kinds without any are left out. */
  readonly unserved: Readonly<Record<string, number>>;
  /** For how long the longest due work of these kinds could have been claimed; 0 when nothing is due. */
  readonly oldestDueSeconds: number;
}

/** Each kind costs one index descent, so that the count reads parked work only. */
export const COUNT_PARKED = sqlStatement<{ kind: string; parked: number }>(
  'count_parked_work',
  `with recursive kinds(kind) as (
     (select kind from work where parked_at is not null order by kind limit 1)
     union all
     select (select w.kind from work w where w.parked_at is not null and w.kind > k.kind order by w.kind limit 1)
     from kinds k where k.kind is not null
   )
   select k.kind, c.parked
   from kinds k cross join lateral (
     select count(*)::int as parked from (select from work w where w.parked_at is not null and w.kind = k.kind limit 1000) p
   ) c
   where k.kind is not null`,
);

/** The kinds of work that is not parked. */
const UNPARKED_KINDS = `
  with recursive kinds(kind) as (
    (select kind from work where parked_at is null order by kind limit 1)
    union all
    select (select w.kind from work w where w.parked_at is null and w.kind > k.kind order by w.kind limit 1)
    from kinds k where k.kind is not null
  )`;

/** Counted up to 1,000 of each kind, and the longest due piece. Each kind costs one index descent and the rows that are counted. */
export const COUNT_DUE = sqlStatement<{ kind: string; due: number; seconds: number }>(
  'count_due_work',
  `${UNPARKED_KINDS}
   select k.kind, d.due, d.seconds
   from kinds k cross join lateral (
     select count(*)::int as due,
            coalesce(floor(extract(epoch from statement_timestamp() - min(w.claimable_at))), 0)::int as seconds
     from (
       select greatest(due_at, leased_until) as claimable_at from work
       where kind = k.kind and parked_at is null and greatest(due_at, leased_until) <= statement_timestamp()
       order by greatest(due_at, leased_until)
       limit 1000
     ) w
   ) d
   where k.kind is not null`,
);

/** Counted up to 1,000 of each kind that is not among the given ones, at the cost of `COUNT_DUE`. */
export const COUNT_UNSERVED = sqlStatement<{ kind: string; due: number }>(
  'count_unserved_work',
  `${UNPARKED_KINDS}
   select k.kind, d.due
   from kinds k cross join lateral (
     select count(*)::int as due
     from (
       select from work
       where kind = k.kind and parked_at is null and greatest(due_at, leased_until) <= statement_timestamp()
       order by greatest(due_at, leased_until)
       limit 1000
     ) w
   ) d
   where k.kind <> all($1::text[]) and d.due > 0`,
);

export const OLDEST_DUE = sqlStatement<{ seconds: number }>(
  'oldest_due_work',
  `select coalesce(floor(extract(epoch from statement_timestamp() - min(w.claimable_at))), 0)::int as seconds
   from unnest($1::text[]) k(kind) cross join lateral (
     select greatest(due_at, leased_until) as claimable_at from work
     where kind = k.kind and parked_at is null and greatest(due_at, leased_until) <= statement_timestamp()
     order by greatest(due_at, leased_until)
     limit 1
   ) w`,
);

/** @throws Refusal `unavailable` */
export async function readWorkStatus(database: Database, kinds: readonly string[]): Promise<WorkStatus> {
  const [parked, unserved, [oldest]] = await database.pipeline({}, [
    bind(COUNT_PARKED),
    bind(COUNT_UNSERVED, kinds),
    bind(OLDEST_DUE, kinds),
  ] as const);
  return {
    parked: Object.fromEntries(parked.map((row) => [row.kind, row.parked])),
    unserved: Object.fromEntries(unserved.map((row) => [row.kind, row.due])),
    oldestDueSeconds: oldest?.seconds ?? 0,
  };
}

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
