import { sqlStatement } from '@banking/postgres';
import { PAYOUT } from './open-payouts.js';

/**
 * Open payouts that are counted, in two index ranges of the queue: those whose next step is the soonest, and those that were parked first.
 * A settled or failed payout has no work.
 */
const COUNTED = `(
    (select workspace_id, subject_id from work where kind = '${PAYOUT}' and parked_at is null
     order by greatest(due_at, leased_until) limit 250)
    union all
    (select workspace_id, subject_id from work where kind = '${PAYOUT}' and parked_at is not null
     order by parked_at, workspace_id, subject_id limit 250)
  )`;

/** Sets the scope of `COUNT_OPEN_PAYOUTS`, which follows it in the same pipeline: the workspaces of these payouts. */
export const SCOPE_OPEN_PAYOUTS = sqlStatement(
  'scope_open_payouts',
  `select set_config('app.workspaces', coalesce('{' || string_agg(distinct w.workspace_id::text, ',') || '}', '{}'), true) as workspaces
   from ${COUNTED} w`,
);

/** Over all workspaces, by status: how many, and the age of the oldest. */
export const COUNT_OPEN_PAYOUTS = sqlStatement<{ status: string; payouts: number; seconds: number }>(
  'count_open_payouts',
  `select p.status, count(*)::int as payouts,
          floor(extract(epoch from statement_timestamp() - min(p.created_at)))::int as seconds
   from ${COUNTED} w
   cross join lateral (
     select o.status, o.created_at from payout o
     where (o.workspace_id, o.transaction_id) = (w.workspace_id, w.subject_id) offset 0) p
   group by p.status`,
);
