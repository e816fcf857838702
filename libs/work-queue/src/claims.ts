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

/** 30 s by the database's clock: after a crash of the worker, another one takes the work over within that time and a poll. */
const LEASE = `clock_timestamp() + interval '30 s'`;

/** The longest due pieces of each kind among which workspaces take turns. */
const WINDOW = 1_000;

/**
 * Work of a workspace that is closed here is not claimed: another cell has it, or will have it. Much of it would fill the window above.
 * A scalar subquery is one index search a row; the planner might turn `not exists` into a join that reads all workspaces.
 */
export const IS_OPEN_HERE = `coalesce((select c.state from cell_workspace c where c.workspace_id = work.workspace_id), 'open') = 'open'`;

/**
 * One range of `work_by_claim` for each kind and each payment network, whose limits are their own: the work of a network that is away fills
 * no window of another. `statement_timestamp()` is stable, so it bounds an index scan; `clock_timestamp()` does
 * not. A try is counted when it fails, so that a worker that is killed uses no try.
 *
 * Of several databases, one has rows of workspaces that another one serves: those are left out.
 *
 * Workspaces take turns: the longest due piece of each comes before the second of any, and of pieces that are due together the one with
 * the lowest id. Locks follow that order and end at the limit, so that another worker takes the next pieces.
 */
export const CLAIM_WORK = sqlStatement<ClaimRow>(
  'claim_work',
  `with next as (
     select n.* from unnest($2::text[], $3::int[]) s(rail, space) cross join lateral (
       select c.* from (
         select w.*, row_number() over (partition by w.workspace_id order by w.claimable_at, w.subject_id) as turn
         from unnest($1::text[]) k(kind) cross join lateral (
           select workspace_id, kind, subject_id, greatest(due_at, leased_until) as claimable_at from work
           where kind = k.kind and rail = s.rail and parked_at is null and greatest(due_at, leased_until) <= statement_timestamp()
             and ${IS_OPEN_HERE}
           order by greatest(due_at, leased_until)
           limit ${WINDOW}
         ) w
         order by turn, claimable_at
       ) d cross join lateral (
         select w.workspace_id, w.kind, w.subject_id from work w
         where (w.workspace_id, w.kind, w.subject_id) = (d.workspace_id, d.kind, d.subject_id)
           and w.parked_at is null and greatest(w.due_at, w.leased_until) <= statement_timestamp()
         for update skip locked
       ) c
       limit s.space
     ) n
   )
   update work w set leased_until = ${LEASE}, fence = w.fence + 1
   from next n
   where (w.workspace_id, w.kind, w.subject_id) = (n.workspace_id, n.kind, n.subject_id)
   returning w.workspace_id, w.kind, w.subject_id, w.rail, w.fence, w.tries + 1 as tries, w.delays`,
);

/**
 * Before a claim. An index scan marks the entries of dead rows that it passes, so the next claim skips them until a vacuum removes them.
 * A bitmap scan does not, and would read the entries of all claims since the last vacuum again.
 */
export const CLAIM_BY_INDEX = bind(
  sqlStatement('claim_by_index', `select set_config('enable_bitmapscan', 'off', true)`),
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

/**
 * Claims due work of these kinds, over all workspaces in turns, the longest due of each first. Two workers never claim the same.
 *
 * @param spaces a number for work without a network only
 */
export async function claimWork(
  database: Database,
  kinds: readonly string[],
  spaces: RailSpaces | number,
): Promise<Claim[]> {
  const byRail = typeof spaces === 'number' ? new Map([['', spaces]]) : spaces;
  const claim = bind(CLAIM_WORK, kinds, [...byRail.keys()], [...byRail.values()]);
  const [, rows] = await database.pipeline({}, [CLAIM_BY_INDEX, claim] as const);
  return rows.map(claimOf);
}

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
