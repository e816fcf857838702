import { bind, DatabaseError, statement, type Bound, type Database } from '@banking/postgres';

/** A piece of work that is ours for the time of the lease. */
export interface Claim {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
  /** Higher than that of every claim before. */
  readonly fence: bigint;
  /** Which try this is since it last went well, 1 for the first. */
  readonly tries: number;
}

interface ClaimRow {
  workspace_id: bigint;
  kind: string;
  subject_id: bigint;
  fence: bigint;
  tries: number;
}

/** 30 s by the database's clock: whoever fails without a word is followed by another within that time and a poll. */
const LEASE = `clock_timestamp() + interval '30 s'`;

const CLAIM_WORK = statement<ClaimRow>(
  'claim_work',
  `with next as (
     select workspace_id, kind, subject_id from work
     where parked_at is null and due_at <= clock_timestamp() and kind = any($1::text[])
       and (leased_until is null or leased_until <= clock_timestamp())
     order by due_at
     limit $2
     for update skip locked
   )
   update work w set leased_until = ${LEASE}, fence = w.fence + 1, tries = w.tries + 1
   from next n
   where (w.workspace_id, w.kind, w.subject_id) = (n.workspace_id, n.kind, n.subject_id)
   returning w.workspace_id, w.kind, w.subject_id, w.fence, w.tries`,
);
const RENEW_CLAIMS = statement<ClaimRow>(
  'renew_claims',
  `update work w set leased_until = ${LEASE}
   from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) u(workspace_id, kind, subject_id, fence)
   where (w.workspace_id, w.kind, w.subject_id, w.fence) = (u.workspace_id, u.kind, u.subject_id, u.fence)
     and w.leased_until > clock_timestamp()
   returning w.workspace_id, w.kind, w.subject_id, w.fence, w.tries`,
);
const HOLD_WORK = statement('hold_work', 'select hold_work($1, $2, $3, $4)');
const END_WORK = statement('end_work', 'delete from work where workspace_id = $1 and kind = $2 and subject_id = $3');
const POSTPONE_WORK = statement(
  'postpone_work',
  `update work set due_at = clock_timestamp() + $4 * interval '1 ms', leased_until = null,
                   tries = case when $5::text is null then 0 else tries end, reason = $5
   where workspace_id = $1 and kind = $2 and subject_id = $3`,
);
const PARK_WORK = statement(
  'park_work',
  `update work set parked_at = clock_timestamp(), leased_until = null, reason = $4
   where workspace_id = $1 and kind = $2 and subject_id = $3`,
);

/** Takes what is due of these kinds, over all workspaces, the longest due first. Several workers never take the same. */
export async function claimWork(database: Database, kinds: readonly string[], limit: number): Promise<Claim[]> {
  const [rows] = await database.flight({}, [bind(CLAIM_WORK, kinds, limit)] as const);
  return rows.map(claimOf);
}

/** Makes the leases of claims last again. Answers those that still are ours. */
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

/** The writes that put work back for later. With a reason it was a failed try; without one the next is the first again. */
export function postponeWork(claim: Claim, delayMs: number, reason?: string): Bound<unknown>[] {
  return [
    holdWork(claim),
    bind(POSTPONE_WORK, claim.workspaceId, claim.kind, claim.subjectId, delayMs, reason ?? null),
  ];
}

/** The writes that lay work aside until an operator releases it. */
export function parkWork(claim: Claim, reason: string): Bound<unknown>[] {
  return [holdWork(claim), bind(PARK_WORK, claim.workspaceId, claim.kind, claim.subjectId, reason)];
}

function claimOf({ workspace_id, kind, subject_id, fence, tries }: ClaimRow): Claim {
  return { workspaceId: Number(workspace_id), kind, subjectId: Number(subject_id), fence, tries };
}
