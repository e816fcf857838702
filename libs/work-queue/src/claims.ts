import {
  bind,
  DatabaseError,
  sqlStatement,
  type BoundStatement,
  type Database,
  RULE_VIOLATION,
} from '@banking/postgres';

/** A piece of work that belongs to one worker for the time of its lease. */
export interface Claim {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
  /** Higher than that of every claim before. */
  readonly fence: bigint;
  /** The number of this try since the last success, from 1. Transient failures do not count. */
  readonly tries: number;
  /** Transient failures in a row before this try. */
  readonly delays: number;
}

interface ClaimRow {
  workspace_id: bigint;
  kind: string;
  subject_id: bigint;
  fence: bigint;
  tries: number;
  delays: number;
}

/** 30 s by the database's clock: after a crash of the worker, another one takes the work over within that time and a poll. */
const LEASE = `clock_timestamp() + interval '30 s'`;

/**
 * One range of `work_by_claim` for each kind. `statement_timestamp()` is stable, so it bounds an index scan; `clock_timestamp()` does
 * not. A try is counted when it fails, so that a worker that is killed uses no try.
 */
export const CLAIM_WORK = sqlStatement<ClaimRow>(
  'claim_work',
  `with next as (
     select w.workspace_id, w.kind, w.subject_id
     from unnest($1::text[]) k(kind) cross join lateral (
       select workspace_id, kind, subject_id, greatest(due_at, leased_until) as claimable_at from work
       where kind = k.kind and parked_at is null and greatest(due_at, leased_until) <= statement_timestamp()
       order by greatest(due_at, leased_until)
       limit $2
       for update skip locked
     ) w
     order by w.claimable_at
     limit $2
   )
   update work w set leased_until = ${LEASE}, fence = w.fence + 1
   from next n
   where (w.workspace_id, w.kind, w.subject_id) = (n.workspace_id, n.kind, n.subject_id)
   returning w.workspace_id, w.kind, w.subject_id, w.fence, w.tries + 1 as tries, w.delays`,
);
/**
 * Never waits for a lock: the worker may have locked rows in a batch, in another order. A locked row is being finished under a lease
 * that has not expired. It is returned as ours and not renewed.
 */
const RENEW_CLAIMS = sqlStatement<ClaimRow>(
  'renew_claims',
  `with ours as (
     select w.workspace_id, w.kind, w.subject_id, w.fence, w.tries + 1 as tries, w.delays
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
   select workspace_id, kind, subject_id, fence, tries, delays from ours`,
);
const HOLD_WORK = sqlStatement('hold_work', 'select hold_work($1, $2, $3, $4)');
const END_WORK = sqlStatement('end_work', 'delete from work where workspace_id = $1 and kind = $2 and subject_id = $3');
const POSTPONE_WORK = sqlStatement(
  'postpone_work',
  `update work set due_at = clock_timestamp() + $4 * interval '1 ms', leased_until = null, tries = $5, delays = $6, reason = $7
   where workspace_id = $1 and kind = $2 and subject_id = $3`,
);
const PARK_WORK = sqlStatement(
  'park_work',
  `update work set parked_at = clock_timestamp(), leased_until = null, tries = $4, delays = 0, reason = $5
   where workspace_id = $1 and kind = $2 and subject_id = $3`,
);

/** Claims due work of these kinds, over all workspaces, the longest due first. Two workers never claim the same. */
export async function claimWork(database: Database, kinds: readonly string[], limit: number): Promise<Claim[]> {
  const [rows] = await database.pipeline({}, [bind(CLAIM_WORK, kinds, limit)] as const);
  return rows.map(claimOf);
}

/** Renews the leases of claims, without waiting for locked rows. Returns the claims that are not lost. */
export async function renewClaims(database: Database, claims: readonly Claim[]): Promise<Claim[]> {
  const values = [
    claims.map(({ workspaceId }) => workspaceId),
    claims.map(({ kind }) => kind),
    claims.map(({ subjectId }) => subjectId),
    claims.map(({ fence }) => fence),
  ];
  const [rows] = await database.pipeline({}, [bind(RENEW_CLAIMS, ...values)] as const);
  return rows.map(claimOf);
}

/**
 * The first statement of a pipeline that requires a claim. When the claim is lost, the database rejects the pipeline (`isLostClaim`),
 * and nothing of it, or of its database transaction, is written.
 */
export function holdWork({ workspaceId, kind, subjectId, fence }: Claim): BoundStatement<unknown> {
  return bind(HOLD_WORK, workspaceId, kind, subjectId, fence);
}

/** Whether another worker has taken the work over, or the lease has expired. */
export function isLostClaim(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === RULE_VIOLATION.claimLost;
}

/** The writes that end claimed work and remove it from the queue. */
export function endWork(claim: Claim): BoundStatement<unknown>[] {
  return [holdWork(claim), bind(END_WORK, claim.workspaceId, claim.kind, claim.subjectId)];
}

/** The writes that release work until later. It succeeded, so the next try is the first again. */
export function postponeWork(claim: Claim, delayMs: number): BoundStatement<unknown>[] {
  return release(claim, delayMs, { tries: 0, delays: 0, reason: null });
}

/** The writes that release work after a failed try. */
export function retryLater(claim: Claim, delayMs: number, reason: string): BoundStatement<unknown>[] {
  return release(claim, delayMs, { tries: claim.tries, delays: 0, reason });
}

/** The writes that release work after a transient failure: the try does not count, the delay grows. */
export function delayWork(claim: Claim, delayMs: number, reason: string): BoundStatement<unknown>[] {
  return release(claim, delayMs, { tries: claim.tries - 1, delays: claim.delays + 1, reason });
}

/** The writes that release work until later without a try: nothing was done. */
export function holdBack(claim: Claim, delayMs: number, reason: string): BoundStatement<unknown>[] {
  return release(claim, delayMs, { tries: claim.tries - 1, delays: claim.delays, reason });
}

/** The writes that park work until an operator releases it. */
export function parkWork(claim: Claim, reason: string): BoundStatement<unknown>[] {
  const { workspaceId, kind, subjectId, tries } = claim;
  return [holdWork(claim), bind(PARK_WORK, workspaceId, kind, subjectId, tries, reason)];
}

function release(
  claim: Claim,
  delayMs: number,
  { tries, delays, reason }: { readonly tries: number; readonly delays: number; readonly reason: string | null },
): BoundStatement<unknown>[] {
  const { workspaceId, kind, subjectId } = claim;
  return [holdWork(claim), bind(POSTPONE_WORK, workspaceId, kind, subjectId, delayMs, tries, delays, reason)];
}

function claimOf({ workspace_id, kind, subject_id, fence, tries, delays }: ClaimRow): Claim {
  return { workspaceId: Number(workspace_id), kind, subjectId: Number(subject_id), fence, tries, delays };
}
