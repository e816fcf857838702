import type { Order } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { STORE_RESPONSES } from '../idempotency/store-response.js';
import { WHOLE_ORDER } from '../resource-json.js';
import type { Placement } from './prepared-order.js';

/** Looks up each order by itself (`offset 0`): a plan made while the tables were small would read all orders of the workspace. */
const ORDER_BY_ID =
  'cross join lateral (select * from customer_order o where o.workspace_id = u.w and o.id = u.id offset 0) t';

const FIND_PLACED = sqlStatement<{ place: number; resource: string }>(
  'find_placed_orders',
  `select (u.n - 1)::int as place, (${WHOLE_ORDER.item})::text as resource
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(w, id, n)
   ${ORDER_BY_ID}
   ${WHOLE_ORDER.joins}`,
);

/** Reads the orders that were just written, and stores the responses of those with a key. */
const STORE_ORDER_RESPONSES = sqlStatement<{ resource: string }>(
  'store_order_responses',
  `with made as materialized (
     select u.n, u.w as workspace_id, u.operation, u.key, decode(u.fingerprint, 'hex') as fingerprint, (${WHOLE_ORDER.item})::text as resource
     from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) with ordinality u(w, id, operation, key, fingerprint, n)
     ${ORDER_BY_ID}
     ${WHOLE_ORDER.joins}),
   stored as (${STORE_RESPONSES})
   select resource from made order by n`,
);

/** The orders that exist, as JSON. `place` is the index of the order. */
export const findPlacedOrders = (
  orders: readonly Placement[],
): BoundStatement<{ readonly place: number; readonly resource: string }> =>
  bind(
    FIND_PLACED,
    orders.map(({ workspaceId }) => workspaceId),
    orders.map(({ ids }) => ids.orderId),
  );

/** Returns each order as JSON, in their order. */
export const storeOrderResponses = (orders: readonly Placement[]): BoundStatement<{ readonly resource: string }> =>
  bind(
    STORE_ORDER_RESPONSES,
    orders.map(({ workspaceId }) => workspaceId),
    orders.map(({ ids }) => ids.orderId),
    orders.map(({ key }) => key?.operation ?? null),
    orders.map(({ key }) => key?.key ?? null),
    orders.map(({ key }) => key?.fingerprint.toString('hex') ?? null),
  );

export const asOrder = (resource: string): Order => JSON.parse(resource) as Order;
