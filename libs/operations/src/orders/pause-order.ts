import { holdWork, parkWork, type Claim } from '@banking/payouts';
import { bind, DatabaseError, statement, type Database } from '@banking/postgres';
import { EXECUTION } from './order-rows.js';

/** Decided behind the lock of the order: it may have been resumed or cancelled since its run was read. */
const PAUSE_ORDER = statement<{ id: bigint }>(
  'pause_order',
  `update customer_order o
   set paused_at = coalesce(paused_at, statement_timestamp()), pause_reason = 'payouts_rejected', updated_at = statement_timestamp()
   where o.workspace_id = $1 and o.id = $2 and o.status = 'active'
     and (o.paused_at is not null or rejected_three_in_a_row(o.workspace_id, o.id, o.resumed_at))
   returning o.id`,
);
const FIND_ORDER = statement('find_order_to_resume', 'select from customer_order where workspace_id = $1 and id = $2');
const RESUME_ORDER = statement<{ id: bigint }>(
  'resume_order',
  `update customer_order
   set paused_at = null, pause_reason = null, resumed_at = statement_timestamp(), updated_at = statement_timestamp()
   where workspace_id = $1 and id = $2 and paused_at is not null
   returning id`,
);
const RELEASE_RUN = statement(
  'release_run',
  `update work w set parked_at = null, tries = 0, delays = 0, reason = null, due_at = clock_timestamp()
   from execution e
   where e.workspace_id = $1 and e.order_id = $2 and e.status = 'scheduled'
     and w.workspace_id = e.workspace_id and w.kind = '${EXECUTION}' and w.subject_id = e.id and w.parked_at is not null`,
);

/** Whether the database refused a run because its order has to be paused, or is. */
export const isPauseRequired = (error: Error): boolean => error instanceof DatabaseError && error.code === 'BK012';

/**
 * Pauses an order instead of running it: the run stays scheduled, and its work is parked until the order is resumed. That ends the
 * claim. Returns false where the order does not have to be paused any more.
 */
export async function pauseOrder(database: Database, claim: Claim, orderId: number): Promise<boolean> {
  const { workspaceId } = claim;
  return database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [, paused] = await tx.flight([holdWork(claim), bind(PAUSE_ORDER, workspaceId, orderId)] as const);
    if (paused.length === 0) return false;
    await tx.commit(
      parkWork(claim, `order ${orderId} is paused after three rejected payouts; see banking order resume`),
    );
    return true;
  });
}

/** Resumes a paused order: its missed run is due now, once, and earlier rejections do not pause it again. */
export async function resumeOrder(
  database: Database,
  { workspaceId, orderId }: { readonly workspaceId: number; readonly orderId: number },
): Promise<'resumed' | 'not_paused' | 'not_found'> {
  return database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [found, resumed] = await tx.flight([
      bind(FIND_ORDER, workspaceId, orderId),
      bind(RESUME_ORDER, workspaceId, orderId),
    ] as const);
    if (resumed.length === 0) return found.length === 0 ? 'not_found' : 'not_paused';
    await tx.commit([bind(RELEASE_RUN, workspaceId, orderId)]);
    return 'resumed';
  });
}
