import type { Order, OrderQuery, Page, WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { LISTED_ORDER } from './edges.js';
import type { CursorSeal } from './lists/cursor-seal.js';
import { listPage, type PagedList } from './lists/list-page.js';
import { namedParties } from './lists/named-parties.js';
import { checkPeriod } from './lists/period.js';

const ORDERS: PagedList = {
  name: 'list_orders',
  table: 'customer_order',
  where: 'true',
  filters: {
    status: (status) => `l.status = ${status}::text`,
    type: (type) => `l.type = ${type}::text`,
    accountId: (id) => `l.account_id = ${id}::bigint`,
    recipientId: (id) => `l.recipient_id = ${id}::bigint`,
    createdFrom: (from) => `l.created_at >= ${from}::timestamptz`,
    createdTo: (to) => `l.created_at < ${to}::timestamptz`,
  },
  item: LISTED_ORDER.item,
  joins: LISTED_ORDER.joins,
};

/** @throws Refusal as the port's `listOrders` says */
export function listOrders(
  database: Database,
  seal: CursorSeal,
  workspaceId: WorkspaceId,
  { limit, cursor, ...filters }: OrderQuery,
): Promise<Page<Order>> {
  checkPeriod(filters);
  const named = namedParties(workspaceId, filters);
  return listPage(database, seal, ORDERS, { workspaceId, limit, cursor, filters, named });
}
