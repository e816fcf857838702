import { bind, sqlStatement, type Database } from '@banking/postgres';

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
