import { bind, type Database, sqlStatement } from '@banking/postgres';

/** The state of the queue in numbers; for health checks. */
export interface WorkStatus {
  /** Pieces of parked work by kind, counted up to 1,000 each. Kinds without any are left out. */
  readonly parked: Readonly<Record<string, number>>;
  /** Pieces of due work by kind, of the kinds and payment networks that this worker does not serve, counted up to 1,000 each. Kinds without any are left out. */
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

/** The kinds and payment networks of work that is not parked. Each costs one index descent. */
export const UNPARKED_RANGES = `
  with recursive ranges(kind, rail) as (
    (select kind, rail from work where parked_at is null order by kind, rail limit 1)
    union all
    select n.kind, n.rail from ranges r cross join lateral (
      select w.kind, w.rail from work w where w.parked_at is null and (w.kind, w.rail) > (r.kind, r.rail) order by w.kind, w.rail limit 1) n
  )`;

/** Counted up to 1,000 of each range, and the longest due piece. */
export const COUNT_DUE = sqlStatement<{ kind: string; rail: string; due: number; seconds: number }>(
  'count_due_work',
  `${UNPARKED_RANGES}
   select k.kind, k.rail, d.due, d.seconds
   from ranges k cross join lateral (
     select count(*)::int as due,
            coalesce(floor(extract(epoch from statement_timestamp() - min(w.claimable_at))), 0)::int as seconds
     from (
       select greatest(due_at, leased_until) as claimable_at from work
       where kind = k.kind and rail = k.rail and parked_at is null and greatest(due_at, leased_until) <= statement_timestamp()
       order by greatest(due_at, leased_until)
       limit 1000
     ) w
   ) d`,
);

/** Counted up to 1,000 of each range whose kind or network is not among the given ones, at the cost of `COUNT_DUE`. */
export const COUNT_UNSERVED = sqlStatement<{ kind: string; due: number }>(
  'count_unserved_work',
  `${UNPARKED_RANGES}
   select k.kind, least(sum(d.due), 1000)::int as due
   from ranges k cross join lateral (
     select count(*)::int as due
     from (
       select from work
       where kind = k.kind and rail = k.rail and parked_at is null and greatest(due_at, leased_until) <= statement_timestamp()
       order by greatest(due_at, leased_until)
       limit 1000
     ) w
   ) d
   where not exists (select from unnest($1::text[], $2::text[]) s(kind, rail) where (s.kind, s.rail) = (k.kind, k.rail)) and d.due > 0
   group by k.kind`,
);

export const OLDEST_DUE = sqlStatement<{ seconds: number }>(
  'oldest_due_work',
  `select coalesce(floor(extract(epoch from statement_timestamp() - min(w.claimable_at))), 0)::int as seconds
   from unnest($1::text[], $2::text[]) k(kind, rail) cross join lateral (
     select greatest(due_at, leased_until) as claimable_at from work
     where kind = k.kind and rail = k.rail and parked_at is null and greatest(due_at, leased_until) <= statement_timestamp()
     order by greatest(due_at, leased_until)
     limit 1
   ) w`,
);

/** The work that a worker does: a kind, of one payment network or without one. */
export interface ServedRange {
  readonly kind: string;
  readonly rail: string;
}

/** @throws Refusal `unavailable` */
export async function readWorkStatus(database: Database, served: readonly ServedRange[]): Promise<WorkStatus> {
  const ranges = [served.map(({ kind }) => kind), served.map(({ rail }) => rail)] as const;
  const [parked, unserved, [oldest]] = await database.pipeline({}, [
    bind(COUNT_PARKED),
    bind(COUNT_UNSERVED, ...ranges),
    bind(OLDEST_DUE, ...ranges),
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
  /** The payment network of a payout. */
  readonly rail?: string;
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
  rail: string;
  state: QueuedWork['state'];
  tries: number;
  delays: number;
  due_at: string;
  parked_at: string | null;
  reason: string | null;
}

const COLUMNS = `w.workspace_id, w.kind, w.subject_id, w.rail, w.tries, w.delays, w.reason, rfc3339(w.due_at) as due_at`;

/** By kind, in the order of `work_by_parking`: the longest parked first. */
export const LIST_PARKED = sqlStatement<WorkRow>(
  'list_parked_work',
  `select ${COLUMNS}, rfc3339(w.parked_at) as parked_at, 'parked' as state
   from work w
   where w.parked_at is not null
   order by w.kind, w.parked_at, w.workspace_id, w.subject_id
   limit $1`,
);

/** The head of each range of `work_by_claim`. */
export const LIST_UNPARKED = sqlStatement<WorkRow>(
  'list_unparked_work',
  `${UNPARKED_RANGES}
   select ${COLUMNS}, null as parked_at, case when w.leased_until > statement_timestamp() then 'running' else 'waiting' end as state
   from ranges k cross join lateral (
     select * from work
     where kind = k.kind and rail = k.rail and parked_at is null
     order by greatest(due_at, leased_until)
     limit $1
   ) w
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
    ...(rest.rail === '' ? {} : { rail: rest.rail }),
    state: rest.state,
    tries: rest.tries,
    delays: rest.delays,
    dueAt: due_at,
    ...(parked_at === null ? {} : { parkedAt: parked_at }),
    ...(reason === null ? {} : { reason }),
  };
}
