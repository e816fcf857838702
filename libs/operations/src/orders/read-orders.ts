import {
  LIMIT_DEFAULT,
  type Order,
  type OrderName,
  type OrderPage,
  type OrderPageQuery,
  type OrderQuery,
  type Page,
  Refusal,
  type WorkspaceId,
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { checkedLimit, listPage, namedParties } from '../lists/list-page.js';
import { checkPeriod, pageByClass, type PageConditions, type PagedList, PLAN_PAGES_ONCE } from '../lists/paged-list.js';
import { ORDER_PAGE, type OrderFacts, type OrderPageFacts, orderWith } from '../resources/compose-order.js';
import type { Reading, ResourceQuery } from '../resources/reading.js';

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

const ORDERS: PagedList<OrderPageFacts, Order> = {
  name: 'list_orders',
  table: 'customer_order',
  indexes: [
    { filter: 'recipientId', where: 'l.amount > 0' },
    { filter: 'accountId', where: 'l.amount > 0' },
    { filter: 'placedBy', where: 'l.placed_by is not null' },
    { where: 'l.amount >= 1' },
  ],
  classes: { status: 'text', type: 'text' },
  filters: {
    accountId: (id) => `l.account_id = ${id}::bigint`,
    recipientId: (id) => `l.recipient_id = ${id}::bigint`,
    placedBy: (id) => `l.placed_by = ${id}::bigint`,
    createdFrom: (from) => `l.created_at >= ${from}::timestamptz`,
    createdTo: (to) => `l.created_at < ${to}::timestamptz`,
  },
  page: pageByClass,
  items: ORDER_PAGE,
};

const OF_REFERENCE: PagedList<OrderPageFacts, Order> = {
  ...ORDERS,
  name: 'list_orders.reference',
  filters: { ...ORDERS.filters, externalReference: (reference) => `l.external_reference = ${reference}::text` },
  page: pageOfReference,
};

/**
 * At most one order has the reference. It is looked up by a range of one value, since the order of the index then tells it from the
 * indexes that also begin with the workspace.
 */
function pageOfReference({ table, range, after, rest, ofClass, parameters }: PageConditions): string {
  const reference = `${parameters['externalReference']}::text`;
  return `page as materialized (
    select l.* from (
      select * from ${table} l
      where l.workspace_id = $1 and l.external_reference >= ${reference} and l.external_reference <= ${reference}
      order by l.external_reference limit 1) l
    where ${[...range, ...after, ...rest, ...ofClass('l')].join(' and ')} limit $2)`;
}

/** @throws Refusal as the port's `listOrders` states */
export function listOrders(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor, ...filters }: OrderQuery,
): Promise<Page<Order>> {
  checkPeriod(filters);
  const named = namedParties(workspaceId, filters);
  return listPage(reading, filters.externalReference === undefined ? ORDERS : OF_REFERENCE, {
    workspaceId,
    limit,
    cursor,
    filters,
    named,
  });
}
