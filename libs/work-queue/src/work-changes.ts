import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { claimColumns, holdWork, type Claim } from './claims.js';

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
export interface ClaimedChange {
  readonly claim: Claim;
  readonly change: WorkChange;
}

const CLAIMED = `(w.workspace_id, w.kind, w.subject_id, w.fence) = (u.workspace_id, u.kind, u.subject_id, u.fence)`;

const END_WORK = sqlStatement(
  'end_work',
  `delete from work w
   using unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) u(workspace_id, kind, subject_id, fence)
   where ${CLAIMED}`,
);
const RELEASE_CLAIMS = sqlStatement(
  'release_claims',
  `update work w set due_at = clock_timestamp() + u.delay_ms * interval '1 ms', leased_until = null,
                     tries = u.tries, delays = u.delays, reason = u.reason
   from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::float8[], $6::int[], $7::int[], $8::text[])
     u(workspace_id, kind, subject_id, fence, delay_ms, tries, delays, reason)
   where ${CLAIMED}`,
);
const PARK_WORK = sqlStatement(
  'park_work',
  `update work w set parked_at = clock_timestamp(), leased_until = null, tries = u.tries, delays = 0, reason = u.reason
   from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::int[], $6::text[])
     u(workspace_id, kind, subject_id, fence, tries, reason)
   where ${CLAIMED}`,
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
