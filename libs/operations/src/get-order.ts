import { LIMIT_DEFAULT, Refusal, type Order, type OrderName, type OrderPage, type OrderPageQuery, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { bind, statement, type Bound, type Database } from '@banking/postgres';
import { orderWith } from './edges.js';
import type { CursorSeal } from './lists/cursor-seal.js';
import { checkedLimit } from './lists/list-page.js';
import { PLAN_BY_ORDER } from './lists/plan-by-order.js';

interface Row {
  readonly resource: Order;
}

const getOrder = (name: string, before?: string) => {
  const { item, joins } = orderWith({ latest: '$4', ...(before !== undefined && { before }) });
  return statement<Row>(
    name,
    `select ${item} as resource from customer_order t ${joins}
     where t.workspace_id = $1 and t.account_id = $2 and t.id = $3`,
  );
};
const GET_ORDER = getOrder('get_order');
const GET_ORDER_BEFORE = getOrder('get_order.before', '$5::int');

/** An order with the latest page of its executions. */
export const orderRead = (workspaceId: number, { accountId, orderId }: OrderName): Bound<Row> =>
  bind(GET_ORDER, workspaceId, accountId, orderId, LIMIT_DEFAULT);

/**
 * @throws Refusal `order_not_found` also where another account owns it
 * @throws Refusal `limit_invalid`, `cursor_invalid`
 */
export async function getOrderPage(
  database: Database,
  seal: CursorSeal,
  workspaceId: WorkspaceId,
  query: OrderPageQuery,
): Promise<OrderPage> {
  const { accountId, orderId, cursor } = query;
  const limit = checkedLimit(query);
  const scope = { list: 'get_order', workspaceId, filters: { accountId, orderId } };
  const before = cursor === undefined ? undefined : await seal.open(scope, cursor);

  // One more tells whether there are executions before these.
  const name = [workspaceId, accountId, orderId, limit + 1];
  const read = before ? bind(GET_ORDER_BEFORE, ...name, before.id) : bind(GET_ORDER, ...name);
  const [, [row]] = await database.flight({ workspaces: [workspaceId] }, [PLAN_BY_ORDER, read] as const);
  if (!row) throw new Refusal('order_not_found');
  const { resource: order } = row;
  const { executions = [] } = order.edges;
  if (executions.length <= limit) return { order };

  const latest = executions.slice(-limit);
  const next = await seal.write(scope, { at: 'sequence', id: latest[0]!.sequence });
  return { order: { ...order, edges: { ...order.edges, executions: latest } }, next };
}
