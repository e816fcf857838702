import type { PauseReason } from '@banking/domain';
import { BY_SYSTEM } from '../audit/audited-call.js';
import { auditEntry, noteAudit } from '../audit/note-audit.js';
import { holdWork, parkWork, type Claim } from '@banking/work-queue';
import { bind, DatabaseError, sqlStatement, type Database, RULE_VIOLATION } from '@banking/postgres';

/** A query of its own. The next query reads what a resumption or cancellation committed while this one waited. */
const LOCK_ORDER = sqlStatement(
  'lock_order_to_pause',
  'select from customer_order where workspace_id = $1 and id = $2 for no key update',
);
/** Runs under the lock of the order, which may have been resumed or cancelled since its run was read. */
const PAUSE_ORDER = sqlStatement<{ pause_reason: PauseReason; is_new: boolean }>(
  'pause_order',
  `update customer_order o
   set paused_at = coalesce(o.paused_at, statement_timestamp()), updated_at = statement_timestamp(),
     pause_reason = coalesce(o.pause_reason, pause_required(o.workspace_id, o.id))
   where o.workspace_id = $1 and o.id = $2 and o.status = 'active'
     and (o.paused_at is not null or pause_required(o.workspace_id, o.id) is not null)
   returning o.pause_reason, o.paused_at = statement_timestamp() as is_new`,
);

/** Shown to the operator with the parked work. */
const CAUSES: Readonly<Record<PauseReason, string>> = {
  payouts_rejected: 'is paused after three rejected payouts',
  placer_without_role: 'is paused: the user who placed it has no role in the workspace',
};

/** Whether the database rejected a run because its order is paused, or must be. */
export const isPauseRequired = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === RULE_VIOLATION.orderPaused;

/**
 * Pauses an order instead of running it. The run stays scheduled, and its work is parked until the order is resumed, which ends the
 * claim. Returns false if the order no longer has to be paused.
 */
export async function pauseOrder(database: Database, claim: Claim, orderId: number): Promise<boolean> {
  const { workspaceId } = claim;
  return database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [, , [paused]] = await tx.pipeline([
      holdWork(claim),
      bind(LOCK_ORDER, workspaceId, orderId),
      bind(PAUSE_ORDER, workspaceId, orderId),
    ] as const);
    if (!paused) return false;
    const change = { operation: 'pauseOrder', resource: { type: 'order', id: orderId } };
    await tx.commit([
      ...parkWork(claim, `order ${orderId} ${CAUSES[paused.pause_reason]}; see banking order resume`),
      ...(paused.is_new ? [noteAudit([auditEntry(workspaceId, change, BY_SYSTEM)])] : []),
    ]);
    return true;
  });
}
