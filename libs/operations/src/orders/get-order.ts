import {
  LIMIT_DEFAULT,
  Refusal,
  type Order,
  type OrderName,
  type OrderPage,
  type OrderPageQuery,
  type WorkspaceId,
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { orderWith, type OrderFacts } from '../resources/compose-order.js';
import type { Reading, ResourceQuery } from '../resources/reading.js';
import { checkedLimit } from '../lists/list-page.js';
import { PLAN_PAGES_ONCE } from '../lists/plan-by-order.js';

const LATEST = orderWith({ latest: '$4' });
const BEFORE = orderWith({ latest: '$4', before: '$5::int' });

const getOrder = (name: string, { columns, joins }: typeof LATEST) =>
  sqlStatement<OrderFacts>(
    name,
    `select ${columns} from customer_order t ${joins}
     where t.workspace_id = $1 and t.id = $3 and ($2::bigint is null or t.account_id = $2)`,
  );
const GET_ORDER = getOrder('get_order', LATEST);
const GET_ORDER_BEFORE = getOrder('get_order.before', BEFORE);

/** An order with the latest page of its executions. */
export const orderQuery = (
  workspaceId: number,
  { accountId, orderId }: OrderName,
): ResourceQuery<OrderFacts, Order> => ({
  bound: bind(GET_ORDER, workspaceId, accountId, orderId, LIMIT_DEFAULT),
  compose: LATEST.compose,
});

/**
 * @throws Refusal `order_not_found` also for an order of another account than the given one
 * @throws Refusal `limit_invalid`, `cursor_invalid`
 */
export async function getOrderPage(
  { database, cursors, reference }: Reading,
  workspaceId: WorkspaceId,
  query: OrderPageQuery,
): Promise<OrderPage> {
  const { accountId = null, orderId, cursor } = query;
  const limit = checkedLimit(query);
  const scope = { list: 'get_order', workspaceId, filters: { accountId, orderId } };
  const before = cursor === undefined ? undefined : await cursors.verify(scope, cursor);

  // Reads one more execution, to know whether there are earlier ones.
  const name = [workspaceId, accountId, orderId, limit + 1];
  const read = before ? bind(GET_ORDER_BEFORE, ...name, before.id) : bind(GET_ORDER, ...name);
  const [, [row]] = await database.pipeline({ workspaces: [workspaceId] }, [PLAN_PAGES_ONCE, read] as const);
  if (!row) throw new Refusal('order_not_found');
  const order = await reference.compose((current) => LATEST.compose(current, row));
  const { executions = [] } = order.edges;
  if (executions.length <= limit) return order;

  const latest = executions.slice(-limit);
  const next = await cursors.sign(scope, { at: 'sequence', id: latest[0]!.sequence });
  return { ...order, edges: { ...order.edges, executions: latest }, next };
}
