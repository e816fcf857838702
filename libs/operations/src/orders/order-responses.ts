import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { ORDER, type OrderFacts } from '../resources/compose-order.js';
import type { Placement } from './prepared-order.js';

/** Looks up each order by itself (`offset 0`): a plan made while the tables were small would read all orders of the workspace. */
const FIND_PLACED = sqlStatement<OrderFacts & { readonly place: number }>(
  'find_placed_orders',
  `select (u.n - 1)::int as place, ${ORDER.columns}
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(w, id, n)
   cross join lateral (select * from customer_order o where o.workspace_id = u.w and o.id = u.id offset 0) t
   ${ORDER.joins}
   order by u.n`,
);

/** The orders that exist. `place` is the index of the order. */
export const findPlacedOrders = (
  orders: readonly Placement[],
): BoundStatement<OrderFacts & { readonly place: number }> =>
  bind(
    FIND_PLACED,
    orders.map(({ workspaceId }) => workspaceId),
    orders.map(({ ids }) => ids.orderId),
  );
