import { Refusal, type Order, type OrderName, type UserId, type WorkspaceId } from '@banking/domain';
import type { Claim } from '@banking/payouts';
import { bind, CommitInDoubtError, statement, type Bound, type Database } from '@banking/postgres';
import { orderRead } from './get-order.js';
import { PLAN_BY_ORDER } from './lists/plan-by-order.js';
import { EXECUTION } from './orders/order-rows.js';

interface CancellingScope {
  readonly workspaceId: WorkspaceId;
  readonly actor: UserId | undefined;
}

/** First of all, as by whoever runs it: the row of the order decides which of the two came first. */
const CANCEL_ORDER = statement<{ id: bigint }>(
  'cancel_order',
  `update customer_order set status = 'cancelled', paused_at = null, pause_reason = null, updated_at = statement_timestamp()
   where workspace_id = $1 and account_id = $2 and id = $3 and status = 'active'
   returning id`,
);
/** A statement of its own, so that it sees the run that was written while the order was waited for. */
const CANCEL_RUNS = statement(
  'cancel_runs',
  `update execution e set status = 'cancelled'
   from customer_order o
   where o.workspace_id = $1 and o.id = $2 and o.status = 'cancelled'
     and (e.workspace_id, e.order_id) = (o.workspace_id, o.id) and e.status = 'scheduled'`,
);
/** Work in the queue ends when it is claimed; parked work is never claimed. */
const DELETE_PARKED_RUNS = statement(
  'delete_parked_runs',
  `delete from work w using execution e
   where e.workspace_id = $1 and e.order_id = $2 and e.status = 'cancelled'
     and w.workspace_id = e.workspace_id and w.kind = '${EXECUTION}' and w.subject_id = e.id and w.parked_at is not null`,
);

const LOCK_ORDER_OF_RUN = statement(
  'lock_order_of_run',
  `select from customer_order o join execution e on e.workspace_id = $1 and e.order_id = o.id
   where o.workspace_id = $1 and e.id = $2 for share of o`,
);
const DELETE_CANCELLED_RUN = statement(
  'delete_cancelled_run',
  `delete from work w using execution e
   where e.workspace_id = $1 and e.id = $2 and e.status = 'cancelled'
     and w.workspace_id = $1 and w.kind = '${EXECUTION}' and w.subject_id = $2 and w.parked_at is not null`,
);

/** What follows the parking of a run: its order may have been cancelled while the run was claimed, and then it has no work left. */
export const deleteIfCancelled = ({ workspaceId, subjectId }: Claim): Bound<unknown>[] => [
  bind(LOCK_ORDER_OF_RUN, workspaceId, subjectId),
  bind(DELETE_CANCELLED_RUN, workspaceId, subjectId),
];

/**
 * After a connection that was lost around the commit it is tried once more: behind the lock of the order's row, which the lost session
 * held to its end, the order is cancelled or still to be cancelled.
 *
 * @throws Refusal `order_not_found`, `order_not_cancellable`, and `outcome_unknown` where the second attempt fails as well
 */
export async function cancelOrder(database: Database, scope: CancellingScope, name: OrderName): Promise<Order> {
  try {
    return await cancel(database, scope, name, false);
  } catch (error) {
    if (!(error instanceof CommitInDoubtError)) throw error;
    return cancel(database, scope, name, true).catch((second: Error) => {
      throw second instanceof Refusal && second.reason === 'order_not_cancellable' ? second : error;
    });
  }
}

async function cancel(
  database: Database,
  { workspaceId, actor }: CancellingScope,
  name: OrderName,
  isRepeated: boolean,
): Promise<Order> {
  const { accountId, orderId } = name;
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [cancelled, , , , [row]] = await database.transaction(scope, (tx) =>
    tx.commit([
      bind(CANCEL_ORDER, workspaceId, accountId, orderId),
      bind(CANCEL_RUNS, workspaceId, orderId),
      bind(DELETE_PARKED_RUNS, workspaceId, orderId),
      PLAN_BY_ORDER,
      orderRead(workspaceId, name),
    ] as const),
  );
  if (!row) throw new Refusal('order_not_found');
  const isDone = cancelled.length > 0 || (isRepeated && row.resource.status === 'cancelled');
  if (!isDone) throw new Refusal('order_not_cancellable');
  return row.resource;
}
