import {
  bind,
  type BoundStatement,
  type Database,
  DatabaseError,
  type DbTransaction,
  RULE_VIOLATION,
  sqlStatement,
} from '@banking/postgres';

/** A piece of work that belongs to one worker for the time of its lease. */
export interface Claim {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
  /** The payment network of a payout; empty for other work. */
  readonly rail: string;
  /** Higher than that of every claim before. */
  readonly fence: bigint;
  /** The number of this try since the last success, from 1. Transient failures do not count. */
  readonly tries: number;
  /** Transient failures in a row before this try. */
  readonly delays: number;
  /** Set for work that this process wrote as claimed and handed over to its worker. */
  readonly fresh?: Fresh | undefined;
}

/** What is known of work that was written as claimed. */
interface Fresh {
  /** What the handler needs to begin. */
  readonly note: string;
  /** The lease lasts at least until then: an uptime of the machine in seconds, which goes on while it sleeps. */
  readonly untilUptimeS: number;
}

interface WorkKeyRow {
  workspace_id: bigint;
  kind: string;
  subject_id: bigint;
}

interface ClaimRow extends WorkKeyRow {
  rail: string;
  fence: bigint;
  tries: number;
  delays: number;
}

/** The workspace that was visited last in a range. */
interface TurnRow {
  workspace_id: bigint;
  kind: string;
  subject_id: null;
  rail: string;
}

/** 30 s by the database's clock: after a crash of the worker, another one takes the work over within that time and a poll. */
const LEASE = `clock_timestamp() + interval '30 s'`;

/** The longest due pieces of a range that a claim reads. If more are due, it visits the workspaces of the range. */
const WINDOW = 250;

/** Workspaces of a range that a claim visits at most. Those that only have later work count. */
const VISITED_MAX = 500;

/**
 * Work of a workspace that is closed here is not claimed: another cell has it, or will have it. Much of it would fill the window above.
 * A scalar subquery is one index search a row; the planner might turn `not exists` into a join that reads all workspaces.
 */
export const IS_OPEN_HERE = `coalesce((select c.state from cell_workspace c where c.workspace_id = work.workspace_id), 'open') = 'open'`;

/** When it can be claimed. `statement_timestamp()` is stable, so it bounds an index scan; `clock_timestamp()` does not. */
const CLAIMABLE_AT = 'greatest(due_at, leased_until)';
const IS_DUE = `${CLAIMABLE_AT} <= statement_timestamp()`;

/**
 * A range for each kind and each payment network, whose limits are their own: the work of a network that is away fills no window of
 * another. A try is counted when it fails, so that a worker that is killed uses no try.
 *
 * Of several databases, one has rows of workspaces that another one serves: those are left out.
 *
 * Workspaces take turns in a range: the longest due piece of each comes before the second of any, and of pieces that are due together the
 * one with the lowest id. Ranges of a network take turns too, so that no kind of work waits for the backlog of another.
 *
 * `longest` is the head of `work_by_claim`, which is mostly all that is due. A backlog of one workspace fills it. Then workspaces are visited
 * by `work_by_turn`, from where the claim before has ended, until enough have due work. A visit reads one entry, however much work there is.
 * The workspaces found share the space equally, and what they leave goes to the longest due.
 *
 * Locks follow that order and end at the limit, so that another worker takes the next pieces. A row without a subject says where the next
 * claim continues in a range; 0 is its beginning.
 */
export const CLAIM_WORK = sqlStatement<ClaimRow | TurnRow>(
  'claim_work',
  `with recursive range as (
     select * from unnest($1::text[], $2::text[], $3::int[], $4::bigint[]) r(kind, rail, space, after)
   ), longest as (
     select r.*, w.*, count(*) over (partition by r.kind, r.rail) < ${WINDOW} as is_all
     from range r cross join lateral (
       select workspace_id, subject_id, ${CLAIMABLE_AT} as claimable_at, ctid as place from work
       where kind = r.kind and rail = r.rail and parked_at is null and ${IS_DUE} and ${IS_OPEN_HERE}
       order by ${CLAIMABLE_AT}
       limit ${WINDOW}
     ) w
   ), visited(kind, rail, space, workspace_id, is_due, found, visits) as (
     select distinct kind, rail, space, after, false, 0, 0 from longest where not is_all
     union all
     select v.kind, v.rail, v.space, n.workspace_id, n.is_due, v.found + n.is_due::int, v.visits + 1
     from visited v cross join lateral (
       select workspace_id, ${IS_DUE} and ${IS_OPEN_HERE} as is_due from work
       where kind = v.kind and rail = v.rail and parked_at is null and workspace_id > v.workspace_id
       order by workspace_id, ${CLAIMABLE_AT}
       limit 1
     ) n
     where v.found < v.space and v.visits < ${VISITED_MAX}
   ), due as (
     select kind, rail, claimable_at, place, bool_or(has_turn) as has_turn,
            row_number() over (partition by kind, rail, workspace_id order by claimable_at, subject_id) as turn
     from (
       select kind, rail, workspace_id, subject_id, claimable_at, place, is_all as has_turn from longest
       union all
       select v.kind, v.rail, w.*, true
       from (
         select *, ceil(space::float8 / count(*) over (partition by kind, rail)) as share from visited where is_due
       ) v cross join lateral (
         select workspace_id, subject_id, ${CLAIMABLE_AT} as claimable_at, ctid as place from work
         where kind = v.kind and rail = v.rail and workspace_id = v.workspace_id and parked_at is null and ${IS_DUE}
         order by ${CLAIMABLE_AT}, subject_id
         limit v.share
       ) w
     ) d
     group by kind, rail, workspace_id, subject_id, claimable_at, place
   ), next as (
     select n.place from (select distinct rail, space from range) s cross join lateral (
       select c.place from (
         select *, row_number() over (partition by kind order by has_turn desc, turn, claimable_at) as rank
         from due where rail = s.rail
         order by rank, claimable_at
       ) d cross join lateral (
         select ctid as place from work
         where ctid = d.place and parked_at is null and ${IS_DUE}
         for update skip locked
       ) c
       limit s.space
     ) n
   ), claimed as (
     update work w set leased_until = ${LEASE}, fence = w.fence + 1
     from next n
     where w.ctid = n.place
     returning w.workspace_id, w.kind, w.subject_id, w.rail, w.fence, w.tries + 1 as tries, w.delays
   )
   select * from claimed
   union all
   (select distinct on (kind, rail) case when found >= space or visits >= ${VISITED_MAX} then workspace_id else 0 end,
           kind, null, rail, null, null, null
    from visited order by kind, rail, visits desc)`,
);

/**
 * Before a claim. An index scan marks the entries of dead rows that it passes, so the next claim skips them until a vacuum removes them.
 * A bitmap scan does not, and would read the entries of all claims since the last vacuum again. A queue that was empty when it was analyzed
 * seems empty to the planner, which would read and sort all of it.
 */
export const CLAIM_BY_INDEX = bind(
  sqlStatement(
    'claim_by_index',
    `select set_config(s, 'off', true)
     from unnest('{enable_bitmapscan,enable_seqscan,enable_sort,enable_incremental_sort}'::text[]) s`,
  ),
);

/**
 * Never waits for a lock: the worker may have locked rows in a batch, in another order. A locked row is being written under a
 * lease that has not expired, or by an event of its payout. It is returned as ours and not renewed.
 */
const RENEW_CLAIMS = sqlStatement<ClaimRow>(
  'renew_claims',
  `with ours as (
     select w.workspace_id, w.kind, w.subject_id, w.rail, w.fence, w.tries + 1 as tries, w.delays
     from work w
     join unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) u(workspace_id, kind, subject_id, fence)
       on (w.workspace_id, w.kind, w.subject_id, w.fence) = (u.workspace_id, u.kind, u.subject_id, u.fence)
     where w.leased_until > statement_timestamp()
   ), free as (
     select w.workspace_id, w.kind, w.subject_id
     from work w join ours o on (w.workspace_id, w.kind, w.subject_id, w.fence) = (o.workspace_id, o.kind, o.subject_id, o.fence)
     where w.leased_until > statement_timestamp()
     for update of w skip locked
   ), renewed as (
     update work w set leased_until = ${LEASE}
     from free f
     where (w.workspace_id, w.kind, w.subject_id) = (f.workspace_id, f.kind, f.subject_id)
   )
   select workspace_id, kind, subject_id, rail, fence, tries, delays from ours`,
);

const HOLD_WORK = sqlStatement('hold_work', 'select hold_work($1, $2, $3, $4)');

/**
 * In the order of the key, as every batch locks: two batches wait for each other and cannot deadlock. A claim that is lost has no row.
 * Each row is searched by its key: the queue seems empty to the planner, which would read all of it for each claim.
 */
export const LOCK_CLAIMS = sqlStatement<WorkKeyRow & { fence: bigint }>(
  'lock_claims',
  `select w.workspace_id, w.kind, w.subject_id, w.fence
   from (
     select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) u(workspace_id, kind, subject_id, fence) order by 1, 2, 3
   ) u cross join lateral (
     select w.* from work w
     where (w.workspace_id, w.kind, w.subject_id) = (u.workspace_id, u.kind, u.subject_id)
       and w.fence = u.fence and w.leased_until > clock_timestamp()
     for update
   ) w`,
);

/** How much work of each payment network is claimed at most, by its name. That of work without a network is empty. */
export type RailSpaces = ReadonlyMap<string, number>;

/** The workspace that was visited last, by kind and network: a worker keeps them from one claim to the next. */
export type Turns = Map<string, number>;

/**
 * Claims due work of these kinds, over all workspaces in turns, the longest due of each first. Two workers never claim the same.
 *
 * @param spaces a number for work without a network only
 * @param turns where the turns stand, which the claim changes
 */
export async function claimWork(
  database: Database,
  kinds: readonly string[],
  spaces: RailSpaces | number,
  turns: Turns = new Map(),
): Promise<Claim[]> {
  const byRail = typeof spaces === 'number' ? new Map([['', spaces]]) : spaces;
  const ranges = kinds.flatMap((kind) => [...byRail].map(([rail, space]) => ({ kind, rail, space })));
  const claim = bind(
    CLAIM_WORK,
    ranges.map(({ kind }) => kind),
    ranges.map(({ rail }) => rail),
    ranges.map(({ space }) => space),
    ranges.map((range) => turns.get(rangeOf(range)) ?? 0),
  );
  const [, rows] = await database.pipeline({}, [CLAIM_BY_INDEX, claim] as const);
  return rows.flatMap((row) => {
    if (row.subject_id !== null) return [claimOf(row)];
    turns.set(rangeOf(row), Number(row.workspace_id));
    return [];
  });
}

const rangeOf = ({ kind, rail }: { readonly kind: string; readonly rail: string }) => `${kind}/${rail}`;

/** Renews the leases of claims, without waiting for locked rows. Returns the claims that are not lost. */
export async function renewClaims(database: Database, claims: readonly Claim[]): Promise<Claim[]> {
  const [rows] = await database.pipeline({}, [bind(RENEW_CLAIMS, ...claimColumns(claims))] as const);
  return rows.map(claimOf);
}

/**
 * The first statement of a pipeline that requires one claim. When the claim is lost, the database rejects the pipeline (`isLostClaim`),
 * and nothing of it, or of its database transaction, is written.
 */
export function holdWork({ workspaceId, kind, subjectId, fence }: Claim): BoundStatement<unknown> {
  return bind(HOLD_WORK, workspaceId, kind, subjectId, fence);
}

/**
 * The first step of a database transaction that requires many claims: locks their work until its end. No other worker can claim it then,
 * even if a lease ends.
 *
 * @returns the claims that are not lost. The transaction may write for these only. A batch may have an earlier claim of the same work,
 *   which is lost
 */
export async function lockClaims(tx: DbTransaction, claims: readonly Claim[]): Promise<ReadonlySet<Claim>> {
  const [rows] = await tx.pipeline([bind(LOCK_CLAIMS, ...claimColumns(claims))] as const);
  const nameOf = (workspace: bigint | number, kind: string, subject: bigint | number, fence: bigint) =>
    `${workspace}/${kind}/${subject}/${fence}`;
  const locked = new Set(rows.map((row) => nameOf(row.workspace_id, row.kind, row.subject_id, row.fence)));
  return new Set(
    claims.filter(({ workspaceId, kind, subjectId, fence }) => locked.has(nameOf(workspaceId, kind, subjectId, fence))),
  );
}

/** The claim was lost before a step of a batch, which has written nothing for it. */
export class LostClaimError extends Error {
  override readonly name = 'LostClaimError';
}

/** Whether another worker has taken the work over, or the lease has expired. */
export function isLostClaim(error: unknown): boolean {
  return error instanceof LostClaimError || (error instanceof DatabaseError && error.code === RULE_VIOLATION.claimLost);
}

/** The first four parameters of a statement on claimed work: keys and fences. */
export function claimColumns(claims: readonly Claim[]): [number[], string[], number[], bigint[]] {
  return [
    claims.map(({ workspaceId }) => workspaceId),
    claims.map(({ kind }) => kind),
    claims.map(({ subjectId }) => subjectId),
    claims.map(({ fence }) => fence),
  ];
}

function claimOf({ workspace_id, subject_id, ...row }: ClaimRow): Claim {
  const { kind, rail, fence, tries, delays } = row;
  return { workspaceId: Number(workspace_id), kind, subjectId: Number(subject_id), rail, fence, tries, delays };
}
