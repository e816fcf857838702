import { WEBHOOK_PENDING_MAX, WEBHOOK_REQUESTED_MAX } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';

const TODAY = `(statement_timestamp() at time zone 'UTC')::date`;

/**
 * Reserves the replays of a workspace for this database transaction, for `IS_REPLAYING`: a query of its own, so that the next one reads
 * what the last holder committed.
 */
const RESERVE_REPLAYS = sqlStatement(
  'reserve_webhook_replays',
  `select set_config('app.replays',
     pg_try_advisory_xact_lock(hashtextextended(jsonb_build_array('webhook replays', $1::bigint)::text, 0))::text, true)`,
);
export const reserveReplays = (workspaceId: number) => bind(RESERVE_REPLAYS, workspaceId);

/** Whether another replay of workspace `$1` has deliveries without an attempt. Those of a disabled endpoint wait for nothing. */
export const IS_REPLAYING = `current_setting('app.replays') = 'false' or exists (
  select from webhook_delivery d join webhook_endpoint e on e.workspace_id = d.workspace_id and e.id = d.endpoint_id
  where d.workspace_id = $1 and d.status = 'pending' and d.kind = 'replay' and d.attempts = 0 and e.status <> 'disabled')`;

/**
 * The common table `verdict` for so many deliveries that are requested in workspace `$1`: whether they exceed a limit.
 *
 * @param deliveries their number, as SQL
 * @param isReplaying whether a replay must wait, as SQL
 */
export const verdictOn = (deliveries: string, isReplaying = 'false'): string => `verdict as materialized (
  select ${isReplaying}
    or ${deliveries} + (select count(*) from (
      select from webhook_delivery d where d.workspace_id = $1 and d.status = 'pending' limit ${WEBHOOK_PENDING_MAX}) p
    ) > ${WEBHOOK_PENDING_MAX}
    or ${deliveries} + (select coalesce(sum(q.requested_deliveries), 0) from webhook_endpoint q
      where q.workspace_id = $1 and q.requested_on = ${TODAY}) > ${WEBHOOK_REQUESTED_MAX} as exceeds)`;

/** The common table that counts so many deliveries as requested for endpoint `$2`, and makes it due at once. */
export const counting = (deliveries: string): string => `counted as (
  update webhook_endpoint q
  set requested_on = ${TODAY}, paused_until = null,
    requested_deliveries = ${deliveries} + case when q.requested_on = ${TODAY} then q.requested_deliveries else 0 end
  where q.workspace_id = $1 and q.id = $2 and ${deliveries} > 0)`;
