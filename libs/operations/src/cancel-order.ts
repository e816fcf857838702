import { Refusal, type Order, type OrderName, type UserId, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';
import { orderRead } from './get-order.js';

/** First of all, as by whoever runs it: the row of the order decides which of the two came first. */
const CANCEL_ORDER = statement<{ id: bigint }>(
  'cancel_order',
  `update customer_order set status = 'cancelled', updated_at = statement_timestamp()
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

/** @throws Refusal `order_not_found`, `order_not_cancellable` */
export async function cancelOrder(
  database: Database,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  name: OrderName,
): Promise<Order> {
  const { accountId, orderId } = name;
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [cancelled, , [row]] = await database.transaction(scope, (tx) =>
    tx.commit([
      bind(CANCEL_ORDER, workspaceId, accountId, orderId),
      bind(CANCEL_RUNS, workspaceId, orderId),
      orderRead(workspaceId, name),
    ] as const),
  );
  if (!row) throw new Refusal('order_not_found');
  if (cancelled.length === 0) throw new Refusal('order_not_cancellable');
  return row.resource;
}
