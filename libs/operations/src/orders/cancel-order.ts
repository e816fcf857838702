import { Refusal, type Order, type OrderName } from '@banking/domain';
import type { Claim } from '@banking/work-queue';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import type { Reading } from '../resources/reading.js';
import { orderQuery } from './get-order.js';
import { PLAN_BY_ORDER } from '../lists/plan-by-order.js';
import { IN_DOUBT_POLICIES, retryInDoubt } from '../idempotency/retry-in-doubt.js';
import { EXECUTION } from './order-statements.js';

/** Comes first, as it does in a run: the lock of the order's row decides between a cancellation and a run. */
const CANCEL_ORDER = sqlStatement<{ id: bigint }>(
  'cancel_order',
  `with cancelled as (
     update customer_order set status = 'cancelled', paused_at = null, pause_reason = null, updated_at = statement_timestamp()
     where workspace_id = $1 and account_id = $2 and id = $3 and status = 'active'
     returning id),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $4::jsonb from cancelled)
   select id from cancelled`,
);
/** A query of its own, so that it reads a run that was committed while this session waited for the order. */
const CANCEL_RUNS = sqlStatement(
  'cancel_runs',
  `update execution e set status = 'cancelled'
   from customer_order o
   where o.workspace_id = $1 and o.id = $2 and o.status = 'cancelled'
     and (e.workspace_id, e.order_id) = (o.workspace_id, o.id) and e.status = 'scheduled'`,
);
/** Queued work of a cancelled run ends when it is claimed. Parked work is never claimed. */
const DELETE_PARKED_RUNS = sqlStatement(
  'delete_parked_runs',
  `delete from work w using execution e
   where e.workspace_id = $1 and e.order_id = $2 and e.status = 'cancelled'
     and w.workspace_id = e.workspace_id and w.kind = '${EXECUTION}' and w.subject_id = e.id and w.parked_at is not null`,
);

const LOCK_ORDER_OF_RUN = sqlStatement(
  'lock_order_of_run',
  `select from customer_order o join execution e on e.workspace_id = $1 and e.order_id = o.id
   where o.workspace_id = $1 and e.id = $2 for share of o`,
);
const DELETE_CANCELLED_RUN = sqlStatement(
  'delete_cancelled_run',
  `delete from work w using execution e
   where e.workspace_id = $1 and e.id = $2 and e.status = 'cancelled'
     and w.workspace_id = $1 and w.kind = '${EXECUTION}' and w.subject_id = $2 and w.parked_at is not null`,
);

/** Deletes the work of a run that is being parked if its order was cancelled while the run was claimed. */
export const deleteIfCancelled = ({ workspaceId, subjectId }: Claim): BoundStatement<unknown>[] => [
  bind(LOCK_ORDER_OF_RUN, workspaceId, subjectId),
  bind(DELETE_CANCELLED_RUN, workspaceId, subjectId),
];

/**
 * Cancels an order. Retried once if the connection is lost around the commit: the lost session holds the lock of the order's row to its
 * end, so the retry finds the order cancelled or cancels it.
 *
 * @throws Refusal `order_not_found`, `order_not_cancellable`, and `outcome_unknown` if the retry fails as well
 */
export async function cancelOrder(reading: Reading, caller: AuditedCall, name: OrderName): Promise<Order> {
  return retryInDoubt((isRetry) => cancel(reading, caller, name, isRetry), IN_DOUBT_POLICIES.change);
}

async function cancel(
  { database, reference }: Reading,
  caller: AuditedCall,
  name: OrderName,
  isRetry: boolean,
): Promise<Order> {
  const { workspaceId, actor } = caller;
  const { accountId, orderId } = name;
  const audited = { operation: 'cancelOrder', resource: { type: 'order', id: orderId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = orderQuery(workspaceId, name);
  const [cancelled, , , , [row]] = await database.transaction(scope, (tx) =>
    tx.commit([
      bind(CANCEL_ORDER, workspaceId, accountId, orderId, entriesOf(caller, audited)),
      bind(CANCEL_RUNS, workspaceId, orderId),
      bind(DELETE_PARKED_RUNS, workspaceId, orderId),
      PLAN_BY_ORDER,
      bound,
    ] as const),
  );
  if (!row) throw new Refusal('order_not_found');
  const isDone = cancelled.length > 0 || (isRetry && row.orderStatus === 'cancelled');
  if (!isDone) throw new Refusal('order_not_cancellable');
  return composeChanged((current) => compose(current, row));
}
