import { bind, statement } from '@banking/postgres';

/**
 * Sent before a page, in the same database transaction. Without statistics every index that begins with the workspace looks as cheap as
 * the one that has the rows in order, and the plan is kept. For a page, a plan that sorts what an index has in order is never the right
 * one. (PostgreSQL 15 does not know the last setting.)
 */
export const PLAN_BY_ORDER = bind(
  statement(
    'plan_by_order',
    `select set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true),
       case when current_setting('enable_presorted_aggregate', true) is not null
         then set_config('enable_presorted_aggregate', 'off', true) end`,
  ),
);
