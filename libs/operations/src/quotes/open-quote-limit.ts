import { Refusal } from '@banking/domain';
import { bind, sqlStatement, type DbTransaction } from '@banking/postgres';
import { PLAN_BY_ORDER } from '../lists/plan-by-order.js';

/** Held to the end of the database transaction, so that quotes of a workspace are counted and added one at a time. */
const LOCK_QUOTES = sqlStatement(
  'lock_open_quotes',
  `select pg_advisory_xact_lock(hashtextextended(jsonb_build_array('open quotes', $1::bigint)::text, 0))`,
);
/**
 * A query of its own under the lock, so that it reads what the earlier holder committed. Without statistics, the order keeps the plan on
 * `quote_by_expiry`, and the subquery keeps it on the primary key of `quote_use`. A join would read all uses of the workspace.
 */
export const COUNT_OPEN_QUOTES = sqlStatement<{ open: number; oldestForS: number | null }>(
  'count_open_quotes',
  `select count(*)::int as open, ceil(extract(epoch from min(q.expires_at) - statement_timestamp()))::int as "oldestForS"
   from (select workspace_id, id, expires_at from quote
         where workspace_id = $1 and expires_at > statement_timestamp() order by expires_at) q
   where (select u.quote_id from quote_use u where u.workspace_id = q.workspace_id and u.quote_id = q.id) is null`,
);

/**
 * Limits the open quotes of a workspace, neither used nor expired, to `max`. The new quote must follow in the same database transaction.
 * Safe for concurrent processes.
 *
 * @throws Refusal `rate_limited`, with the time until the oldest open quote expires
 */
export async function checkOpenQuotes(tx: DbTransaction, workspaceId: number, max: number): Promise<void> {
  const [, , [row]] = await tx.pipeline([
    bind(LOCK_QUOTES, workspaceId),
    PLAN_BY_ORDER,
    bind(COUNT_OPEN_QUOTES, workspaceId),
  ] as const);
  const { open, oldestForS } = row!;
  if (open < max) return;
  const message = `The workspace has ${open} open quotes of at most ${max}. Use one, or wait until one expires.`;
  throw new Refusal('rate_limited', message, { retryAfterSeconds: Math.max(1, oldestForS ?? 1) });
}
