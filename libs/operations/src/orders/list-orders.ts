import type { Order, OrderQuery, Page, WorkspaceId } from '@banking/domain';
import { ORDER_PAGE, type OrderPageFacts } from '../resources/compose-order-page.js';
import type { Reading } from '../resources/reading.js';
import { listPage } from '../lists/list-page.js';
import { namedParties } from '../lists/named-parties.js';
import type { PagedList, PageConditions } from '../lists/paged-list.js';
import { pageByClass } from '../lists/page-query.js';
import { checkPeriod } from '../lists/period.js';

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
