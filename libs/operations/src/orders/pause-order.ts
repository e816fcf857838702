import type { PauseReason } from '@banking/domain';
import { holdWork, parkWork, type Claim } from '@banking/payouts';
import { bind, DatabaseError, statement, type Database } from '@banking/postgres';

/** A statement of its own, so that the next one sees what a resumption or a cancellation changed while this one waited. */
const LOCK_ORDER = statement(
  'lock_order_to_pause',
  'select from customer_order where workspace_id = $1 and id = $2 for no key update',
);
/** Decided behind the lock of the order: it may have been resumed or cancelled since its run was read. */
const PAUSE_ORDER = statement<{ pause_reason: PauseReason }>(
  'pause_order',
  `update customer_order o
   set paused_at = coalesce(o.paused_at, statement_timestamp()), updated_at = statement_timestamp(),
     pause_reason = coalesce(o.pause_reason, pause_required(o.workspace_id, o.id))
   where o.workspace_id = $1 and o.id = $2 and o.status = 'active'
     and (o.paused_at is not null or pause_required(o.workspace_id, o.id) is not null)
   returning o.pause_reason`,
);

/** For the operator, with the parked work. */
const WHY: Readonly<Record<PauseReason, string>> = {
  payouts_rejected: 'is paused after three rejected payouts',
  placer_without_role: 'is paused: the user who placed it has no role in the workspace',
};

/** Whether the database refused a run because its order has to be paused, or is. */
export const isPauseRequired = (error: Error): boolean => error instanceof DatabaseError && error.code === 'BK012';

/**
 * Pauses an order instead of running it: the run stays scheduled, and its work is parked until the order is resumed. That ends the
 * claim. Returns false where the order does not have to be paused any more.
 */
export async function pauseOrder(database: Database, claim: Claim, orderId: number): Promise<boolean> {
  const { workspaceId } = claim;
  return database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [, , [paused]] = await tx.flight([
      holdWork(claim),
      bind(LOCK_ORDER, workspaceId, orderId),
      bind(PAUSE_ORDER, workspaceId, orderId),
    ] as const);
    if (!paused) return false;
    await tx.commit(parkWork(claim, `order ${orderId} ${WHY[paused.pause_reason]}; see banking order resume`));
    return true;
  });
}
