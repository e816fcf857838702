import { Refusal, type Order, type OrderName, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Bound, type Database } from '@banking/postgres';
import { WHOLE_ORDER } from './edges.js';

const GET_ORDER = statement<{ resource: Order }>(
  'get_order',
  `select ${WHOLE_ORDER.item} as resource from customer_order t ${WHOLE_ORDER.joins}
   where t.workspace_id = $1 and t.account_id = $2 and t.id = $3`,
);

export const orderRead = (workspaceId: number, { accountId, orderId }: OrderName): Bound<{ resource: Order }> =>
  bind(GET_ORDER, workspaceId, accountId, orderId);

/** @throws Refusal `order_not_found` also where another account owns it */
export async function getOrder(database: Database, workspaceId: WorkspaceId, name: OrderName): Promise<Order> {
  const row = await database.read({ workspaces: [workspaceId] }, orderRead(workspaceId, name));
  if (!row) throw new Refusal('order_not_found');
  return row.resource;
}
