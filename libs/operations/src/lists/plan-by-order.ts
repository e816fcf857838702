import { bind, sqlStatement } from '@banking/postgres';

/**
 * Planner settings for a page, in the same database transaction: without sorting, the planner chooses the index in the order of the list.
 * Without statistics, each index that begins with the workspace has the same cost, and the connection keeps the plan. PostgreSQL 15 lacks
 * the last setting.
 */
export const PLAN_BY_ORDER = bind(
  sqlStatement(
    'plan_by_order',
    `select set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true),
       case when current_setting('enable_presorted_aggregate', true) is not null
         then set_config('enable_presorted_aggregate', 'off', true) end`,
  ),
);
