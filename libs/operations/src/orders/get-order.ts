import {
  LIMIT_DEFAULT,
  Refusal,
  type Order,
  type OrderName,
  type OrderPage,
  type OrderPageQuery,
  type WorkspaceId,
} from '@banking/domain';
import { bind, sqlStatement, type BoundStatement, type Database } from '@banking/postgres';
import { orderWith } from '../resource-json.js';
import type { CursorSigner } from '../lists/sign-cursor.js';
import { checkedLimit } from '../lists/list-page.js';
import { PLAN_BY_ORDER } from '../lists/plan-by-order.js';

interface Row {
  readonly resource: Order;
}

const getOrder = (name: string, before?: string) => {
  const { item, joins } = orderWith({ latest: '$4', ...(before !== undefined && { before }) });
  return sqlStatement<Row>(
    name,
    `select ${item} as resource from customer_order t ${joins}
     where t.workspace_id = $1 and t.account_id = $2 and t.id = $3`,
  );
};
const GET_ORDER = getOrder('get_order');
const GET_ORDER_BEFORE = getOrder('get_order.before', '$5::int');

/** An order with the latest page of its executions. */
export const orderRead = (workspaceId: number, { accountId, orderId }: OrderName): BoundStatement<Row> =>
  bind(GET_ORDER, workspaceId, accountId, orderId, LIMIT_DEFAULT);

/**
 * @throws Refusal `order_not_found` also for an order of another account
 * @throws Refusal `limit_invalid`, `cursor_invalid`
 */
export async function getOrderPage(
  database: Database,
  cursors: CursorSigner,
  workspaceId: WorkspaceId,
  query: OrderPageQuery,
): Promise<OrderPage> {
  const { accountId, orderId, cursor } = query;
  const limit = checkedLimit(query);
  const scope = { list: 'get_order', workspaceId, filters: { accountId, orderId } };
  const before = cursor === undefined ? undefined : await cursors.verify(scope, cursor);

  // Reads one more execution, to know whether there are earlier ones.
  const name = [workspaceId, accountId, orderId, limit + 1];
  const read = before ? bind(GET_ORDER_BEFORE, ...name, before.id) : bind(GET_ORDER, ...name);
  const [, [row]] = await database.pipeline({ workspaces: [workspaceId] }, [PLAN_BY_ORDER, read] as const);
  if (!row) throw new Refusal('order_not_found');
  const { resource: order } = row;
  const { executions = [] } = order.edges;
  if (executions.length <= limit) return order;

  const latest = executions.slice(-limit);
  const next = await cursors.sign(scope, { at: 'sequence', id: latest[0]!.sequence });
  return { ...order, edges: { ...order.edges, executions: latest }, next };
}
