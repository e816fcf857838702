import { bind, DatabaseError, statement, type Bound, type Database } from '@banking/postgres';

/** A piece of work that is ours for the time of the lease. */
export interface Claim {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
  /** Higher than that of every claim before. */
  readonly fence: bigint;
  /** Which try this is since it last went well, 1 for the first. Passing failures do not count. */
  readonly tries: number;
  /** How many passing failures in a row came before this try. */
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

/** 30 s by the database's clock: whoever fails without a word is followed by another within that time and a poll. */
const LEASE = `clock_timestamp() + interval '30 s'`;

/**
 * One range of `work_by_claim` for each kind. `statement_timestamp()` is stable, so it bounds an index scan; `clock_timestamp()` does
 * not. A try is counted when it fails, so that a worker that is killed uses none up.
 */
export const CLAIM_WORK = statement<ClaimRow>(
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
 * Never waits: its holder may have locked a row in a batch, in another order than ours. A locked row is being finished under a lease
 * that still lasts. It is answered as ours and not renewed.
 */
const RENEW_CLAIMS = statement<ClaimRow>(
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
const HOLD_WORK = statement('hold_work', 'select hold_work($1, $2, $3, $4)');
const END_WORK = statement('end_work', 'delete from work where workspace_id = $1 and kind = $2 and subject_id = $3');
const POSTPONE_WORK = statement(
  'postpone_work',
  `update work set due_at = clock_timestamp() + $4 * interval '1 ms', leased_until = null, tries = $5, delays = $6, reason = $7
   where workspace_id = $1 and kind = $2 and subject_id = $3`,
);
const PARK_WORK = statement(
  'park_work',
  `update work set parked_at = clock_timestamp(), leased_until = null, tries = $4, delays = 0, reason = $5
   where workspace_id = $1 and kind = $2 and subject_id = $3`,
);

/** Takes what is due of these kinds, over all workspaces, the longest due first. Several workers never take the same. */
export async function claimWork(database: Database, kinds: readonly string[], limit: number): Promise<Claim[]> {
  const [rows] = await database.flight({}, [bind(CLAIM_WORK, kinds, limit)] as const);
  return rows.map(claimOf);
}

/** Renews the leases of claims, without waiting for locked rows. Returns the claims that are still ours. */
export async function renewClaims(database: Database, claims: readonly Claim[]): Promise<Claim[]> {
  const values = [
    claims.map(({ workspaceId }) => workspaceId),
    claims.map(({ kind }) => kind),
    claims.map(({ subjectId }) => subjectId),
    claims.map(({ fence }) => fence),
  ];
  const [rows] = await database.flight({}, [bind(RENEW_CLAIMS, ...values)] as const);
  return rows.map(claimOf);
}

/**
 * The first statement of a flight that only the holder of a claim may carry out. When the claim is lost, the database objects
 * (`isLostClaim`) and nothing of the flight, or of the database transaction it is in, is written.
 */
export function holdWork({ workspaceId, kind, subjectId, fence }: Claim): Bound<unknown> {
  return bind(HOLD_WORK, workspaceId, kind, subjectId, fence);
}

/** Whether somebody else has taken the work over, or the lease has run out. */
export function isLostClaim(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'BK005';
}

/** The writes by which the holder of a claim is done with it for good. */
export function endWork(claim: Claim): Bound<unknown>[] {
  return [holdWork(claim), bind(END_WORK, claim.workspaceId, claim.kind, claim.subjectId)];
}

/** The writes that put work back for later: it went well, so the next try is the first again. */
export function postponeWork(claim: Claim, delayMs: number): Bound<unknown>[] {
  return putBack(claim, delayMs, { tries: 0, delays: 0, reason: null });
}

/** The writes that put work back after a failed try. */
export function retryLater(claim: Claim, delayMs: number, reason: string): Bound<unknown>[] {
  return putBack(claim, delayMs, { tries: claim.tries, delays: 0, reason });
}

/** The writes that put work back after a failure that passes by itself: the try does not count, the delay grows. */
export function delayWork(claim: Claim, delayMs: number, reason: string): Bound<unknown>[] {
  return putBack(claim, delayMs, { tries: claim.tries - 1, delays: claim.delays + 1, reason });
}

/** The writes that lay work aside until an operator releases it. */
export function parkWork(claim: Claim, reason: string): Bound<unknown>[] {
  const { workspaceId, kind, subjectId, tries } = claim;
  return [holdWork(claim), bind(PARK_WORK, workspaceId, kind, subjectId, tries, reason)];
}

function putBack(
  claim: Claim,
  delayMs: number,
  { tries, delays, reason }: { readonly tries: number; readonly delays: number; readonly reason: string | null },
): Bound<unknown>[] {
  const { workspaceId, kind, subjectId } = claim;
  return [holdWork(claim), bind(POSTPONE_WORK, workspaceId, kind, subjectId, delayMs, tries, delays, reason)];
}

function claimOf({ workspace_id, kind, subject_id, fence, tries, delays }: ClaimRow): Claim {
  return { workspaceId: Number(workspace_id), kind, subjectId: Number(subject_id), fence, tries, delays };
}
