import { bind, sqlStatement } from '@banking/postgres';

/** PostgreSQL 15 lacks the last setting. */
const BY_ORDER = `set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true),
       case when current_setting('enable_presorted_aggregate', true) is not null
         then set_config('enable_presorted_aggregate', 'off', true) end`;

/**
 * Planner settings for a query with a limit, in the same database transaction: without sorting, the planner chooses the index in the order
 * of the list. Without statistics, each index that begins with the workspace has the same cost, and the connection keeps the plan.
 */
export const PLAN_BY_ORDER = bind(sqlStatement('plan_by_order', `select ${BY_ORDER}`));

/**
 * The same for a page of a list, with one plan for all values of its parameters. PostgreSQL estimates that a plan for a known limit costs
 * less, and would plan each page again, which takes as long as reading 25 transfers.
 */
export const PLAN_PAGES_ONCE = bind(
  sqlStatement('plan_pages_once', `select ${BY_ORDER}, set_config('plan_cache_mode', 'force_generic_plan', true)`),
);
