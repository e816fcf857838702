import { bind, type BoundStatement, type Database, lookup, sqlStatement } from '@banking/postgres';
import { type Claim, CLAIM_BY_INDEX, claimColumns, holdWork, IS_OPEN_HERE } from './claims.js';
import { WORK_RETRY_POLICIES } from './work-handler.js';

/** What happens to claimed work after a try: it ends, waits until later, or is parked until an operator releases it. */
export type WorkChange =
  | { readonly kind: 'end' }
  | {
      readonly kind: 'release';
      readonly delayMs: number;
      readonly tries: number;
      readonly delays: number;
      readonly reason: string | null;
    }
  | { readonly kind: 'park'; readonly reason: string };

/** A change with the claim under which it is written. */
interface ClaimedChange {
  readonly claim: Claim;
  readonly change: WorkChange;
}

/**
 * The places of claimed work. The lock on a claim keeps the `ctid` of its row as it is. Each row is searched by its key: the queue seems
 * empty to the planner, which would read all of it for each claim.
 */
const CLAIMED = `cross join ${lookup(`select c.ctid as place from work c
     where (c.workspace_id, c.kind, c.subject_id, c.fence) = (u.workspace_id, u.kind, u.subject_id, u.fence)`)} c
   where w.ctid = c.place`;

export const END_WORK = sqlStatement(
  'end_work',
  `delete from work w
   using unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) u(workspace_id, kind, subject_id, fence)
   ${CLAIMED}`,
);

export const RELEASE_CLAIMS = sqlStatement(
  'release_claims',
  `update work w set due_at = clock_timestamp() + u.delay_ms * interval '1 ms', leased_until = null,
                     tries = u.tries, delays = u.delays, reason = u.reason
   from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::float8[], $6::int[], $7::int[], $8::text[])
     u(workspace_id, kind, subject_id, fence, delay_ms, tries, delays, reason)
   ${CLAIMED}`,
);

const PARK_WORK = sqlStatement(
  'park_work',
  `update work w set parked_at = clock_timestamp(), leased_until = null, tries = u.tries, delays = 0, reason = u.reason
   from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::int[], $6::text[])
     u(workspace_id, kind, subject_id, fence, tries, reason)
   ${CLAIMED}`,
);

/** It succeeded and is due again later: the next try is the first again. */
export const postponed = (delayMs: number): WorkChange => release(delayMs, { tries: 0, delays: 0, reason: null });

/** It is tried again after a failed try. */
export const retriedLater = ({ tries }: Claim, delayMs: number, reason: string): WorkChange =>
  release(delayMs, { tries, delays: 0, reason });

/** It is tried again after a transient failure: the try does not count, the delay grows. */
export const delayed = ({ tries, delays }: Claim, delayMs: number, reason: string): WorkChange =>
  release(delayMs, { tries: tries - 1, delays: delays + 1, reason });

/** It waits until later without a try: nothing was done. */
export const heldBack = ({ tries, delays }: Claim, delayMs: number, reason: string): WorkChange =>
  release(delayMs, { tries: tries - 1, delays, reason });

/** The writes that park one piece of work until an operator releases it, with the statement that requires its claim. */
export function parkWork(claim: Claim, reason: string): BoundStatement<unknown>[] {
  return [holdWork(claim), ...changeWork([{ claim, change: { kind: 'park', reason } }])];
}

/** The writes for claims that the database transaction has locked: at most one statement for each kind of change. */
export function changeWork(changes: readonly ClaimedChange[]): BoundStatement<unknown>[] {
  const ended = changes.flatMap(({ claim, change }) => (change.kind === 'end' ? [claim] : []));
  const parked = changes.flatMap(({ claim, change }) => (change.kind === 'park' ? [{ claim, ...change }] : []));
  const released = changes.flatMap(({ claim, change }) => (change.kind === 'release' ? [{ claim, ...change }] : []));
  const statements: BoundStatement<unknown>[] = [];
  if (ended.length > 0) statements.push(bind(END_WORK, ...claimColumns(ended)));
  if (released.length > 0) {
    statements.push(
      bind(
        RELEASE_CLAIMS,
        ...claimColumns(released.map(({ claim }) => claim)),
        released.map(({ delayMs }) => delayMs),
        released.map(({ tries }) => tries),
        released.map(({ delays }) => delays),
        released.map(({ reason }) => reason),
      ),
    );
  }
  if (parked.length > 0) {
    statements.push(
      bind(
        PARK_WORK,
        ...claimColumns(parked.map(({ claim }) => claim)),
        parked.map(({ claim }) => claim.tries),
        parked.map(({ reason }) => reason),
      ),
    );
  }
  return statements;
}

function release(
  delayMs: number,
  { tries, delays, reason }: { readonly tries: number; readonly delays: number; readonly reason: string | null },
): WorkChange {
  return { kind: 'release', delayMs, tries, delays, reason };
}

/** The key of a piece of work. */
export interface WorkKey {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
}

/** How many pieces are released in one database transaction. */
const RELEASED_AT_ONCE = 500;

/** How many released pieces become due in a second, so that work that failed together is not retried together. */
const DUE_PER_SECOND = 100;

/** A range of `work_by_parking`. Work parked after the start is left out, so that the batches come to an end. */
export const LIST_PARKED_BATCH = sqlStatement<{ workspace_id: bigint; subject_id: bigint }>(
  'list_parked_batch',
  `select workspace_id, subject_id
   from work
   where kind = $1 and parked_at is not null and parked_at <= $2 and ($3::bigint is null or workspace_id = $3)
   order by parked_at, workspace_id, subject_id
   limit ${RELEASED_AT_ONCE}`,
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

const WOKEN_AT_ONCE = 5_000;

/**
 * One range of `work_by_claim` for each kind, as `CLAIM_WORK` reads. $2 pieces were woken before. Their delays begin anew, so a batch does
 * not find them again.
 */
const WAKE_DELAYED = sqlStatement<{ woken: number }>(
  'wake_delayed',
  `with delayed as (
     select w.* from unnest($3::text[]) k(kind) cross join lateral (
       select workspace_id, kind, subject_id from work
       where kind = k.kind and rail = '' and parked_at is null and greatest(due_at, leased_until) > statement_timestamp()
         and greatest(due_at, leased_until) <= statement_timestamp() + ${WORK_RETRY_POLICIES.work.maxMs} * interval '1 ms'
         and delays > 0 and reason = $1 and leased_until is null and ${IS_OPEN_HERE}
       order by greatest(due_at, leased_until) limit ${WOKEN_AT_ONCE} for update skip locked
     ) w
   ), spread as (
     select d.*, ($2::int + row_number() over () - 1) / ${DUE_PER_SECOND} as second from delayed d
   ), woken as (
     update work w set delays = 0, due_at = least(w.due_at, statement_timestamp() + s.second * interval '1 s')
     from spread s
     where (w.workspace_id, w.kind, w.subject_id) = (s.workspace_id, s.kind, s.subject_id)
     returning 1
   )
   select count(*)::int as woken from woken`,
);

/** Makes the work of these kinds, which no payment network carries, due that failed while a database was away, spread over seconds. @throws Refusal `unavailable` */
export async function wakeDelayed(database: Database, kinds: readonly string[]): Promise<void> {
  for (let before = 0, woken = WOKEN_AT_ONCE; woken >= WOKEN_AT_ONCE; before += woken) {
    const [, [row]] = await database.pipeline({}, [
      CLAIM_BY_INDEX,
      bind(WAKE_DELAYED, 'unavailable', before, kinds),
    ] as const);
    woken = row?.woken ?? 0;
  }
}
