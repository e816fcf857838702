import { PAYER } from '@banking/domain';
import { bind, type BoundStatement, type Database, sqlStatement } from '@banking/postgres';
import type { WorkHandler } from '@banking/work-queue';
import { auditEntry, BY_SYSTEM, noteAudit } from '../audit/audited-call.js';

/** The kind of work that pauses the later orders of a removed user: those that the removal itself did not. */
export const REMOVED_PLACER = 'removed-placer';

/** How many orders one database transaction pauses: few enough for the time of a statement on a slow machine. */
export const PAUSED_MAX = 500;

interface LockedOrder {
  id: bigint;
}

const LOCK_RUNNING_ORDERS = sqlStatement<LockedOrder>(
  'lock_running_orders_of_placer',
  `select id from customer_order
   where workspace_id = $1 and placed_by = $2 and status = 'active' and type <> 'instant' and paused_at is null and id > $3
   order by id limit $4 for no key update`,
);

/** Locks later orders of a user that are not paused, by their ids. A run of an order locks it before the roles of its placer. */
export const lockRunningOrders = (
  workspaceId: number,
  userId: number | bigint,
  after = 0n,
): BoundStatement<LockedOrder> => bind(LOCK_RUNNING_ORDERS, workspaceId, userId, after, PAUSED_MAX);

const PAUSE_ORDERS = sqlStatement(
  'pause_orders',
  `update customer_order
   set paused_at = statement_timestamp(), pause_reason = 'placer_without_role', updated_at = statement_timestamp()
   where workspace_id = $1 and id = any($2::bigint[])`,
);

/** @param by what the audit trail says of the caller */
export const pauseLocked = (
  workspaceId: number,
  orders: readonly LockedOrder[],
  by: Parameters<typeof auditEntry>[2],
): BoundStatement<unknown>[] => {
  if (orders.length === 0) return [];
  const ids = orders.map(({ id }) => Number(id));
  const entries = ids.map((id) => {
    const audited = { operation: 'pauseOrder', resource: { type: 'order', id } };
    return auditEntry(workspaceId, audited, by);
  });
  return [bind(PAUSE_ORDERS, workspaceId, ids), noteAudit(entries)];
};

const QUEUE_REMOVED_PLACER = sqlStatement('queue_removed_placer', 'select queue_removed_placer($1, $2)');

/** Leaves to a worker what later orders of a user are not paused in this database transaction. */
export const queueRemovedPlacer = (workspaceId: number, userId: number | null): BoundStatement<unknown> =>
  bind(QUEUE_REMOVED_PLACER, workspaceId, userId);

const IS_PAYER = sqlStatement<{ isPayer: boolean }>('is_payer', `select has_role($1, $2, '${PAYER}') as "isPayer"`);

/** How often a user who is a member is looked at. In another cell, the copy of a removal may come after its work. */
const LOOKS_MAX = 5n;
const LOOK_AGAIN_MS = 1_000;

/** Pauses the later orders of a removed user, a page in each database transaction. None of them runs meanwhile, without the role. */
export const removedPlacerHandler = (database: Database): WorkHandler => ({
  async run({ workspaceId, subjectId: userId, fence }, signal) {
    const scope = { workspaces: [workspaceId] };
    const page = (after: bigint) =>
      database.transaction(scope, async (tx) => {
        const [orders] = await tx.pipeline([lockRunningOrders(workspaceId, userId, after)] as const);
        await tx.commit(pauseLocked(workspaceId, orders, BY_SYSTEM));
        return orders.at(-1)?.id;
      });
    for (let after: bigint | undefined = 0n; after !== undefined; after = await page(after)) {
      if (signal.aborted) return { laterMs: 0 };
      const right = await database.read(scope, bind(IS_PAYER, userId, workspaceId));
      // The user may be a member again.
      if (right?.isPayer === true) return fence < LOOKS_MAX ? { laterMs: LOOK_AGAIN_MS } : 'done';
    }
    return 'done';
  },
});
