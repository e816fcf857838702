import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import type { Placement } from './prepared-order.js';

/** Whether the external reference and the quote of an order, which serve one order each, are still free. */
export interface OrderConflicts {
  readonly reference_is_taken: boolean;
  readonly quote_is_used: boolean;
  readonly quote_is_expired: boolean;
}

/** A quote expires by the start time of the database transaction. The trigger of `quote_use` uses the same time. */
const READ_CONFLICTS = sqlStatement<OrderConflicts & { readonly place: number }>(
  'read_order_conflicts',
  `select (u.n - 1)::int as place,
          u.reference is not null and exists (
            select from customer_order o where o.workspace_id = u.w and o.external_reference = u.reference) as reference_is_taken,
          u.quote is not null and exists (
            select from quote_use q where q.workspace_id = u.w and q.quote_id = u.quote) as quote_is_used,
          u.quote is not null and exists (
            select from quote q where q.workspace_id = u.w and q.id = u.quote and q.expires_at <= now()) as quote_is_expired
   from unnest($1::bigint[], $2::text[], $3::bigint[]) with ordinality u(w, reference, quote, n)`,
);

/** A row for each order. `place` is its index. */
export const readOrderConflicts = (
  orders: readonly Placement[],
): BoundStatement<OrderConflicts & { readonly place: number }> =>
  bind(
    READ_CONFLICTS,
    orders.map(({ workspaceId }) => workspaceId),
    orders.map(({ draft }) => draft.externalReference ?? null),
    orders.map(({ draft }) => draft.quoteID ?? null),
  );
