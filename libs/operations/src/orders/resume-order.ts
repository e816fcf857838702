import { Refusal, type Order, type OrderName } from '@banking/domain';
import { bind, sqlStatement, type DbTransaction } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import type { Reading } from '../resources/reading.js';
import { orderQuery } from './get-order.js';
import { PLAN_BY_ORDER } from '../lists/plan-by-order.js';
import { IN_DOUBT_POLICIES, retryInDoubt } from '../idempotency/retry-in-doubt.js';
import { EXECUTION } from './order-statements.js';

/** An order to resume, and its new placer. Without one, it stays with the user who placed it. */
interface Resumption {
  /** For the audit trail. */
  readonly caller: AuditedCall;
  readonly orderId: number;
  readonly accountId?: number;
  readonly placerId?: number | undefined;
}

interface LockedOrder {
  readonly is_paused: boolean;
  readonly placer_id: bigint | null;
  /** The e-mail of the user who placed it, or null if the user is unknown or was removed. */
  readonly placer: string | null;
}

const LOCK_ORDER = sqlStatement<LockedOrder>(
  'lock_order_to_resume',
  `select o.paused_at is not null as is_paused, o.placed_by as placer_id, (select u.email from app_user u where u.id = o.placed_by) as placer
   from customer_order o
   where o.workspace_id = $1 and o.id = $2 and o.account_id = coalesce($3, o.account_id)
   for no key update`,
);
/** Requires a placer with a role. Without one the order would be paused again at once. */
const RESUME_ORDER = sqlStatement<{ id: bigint }>(
  'resume_order',
  `with resumed as (
     update customer_order
     set paused_at = null, pause_reason = null, resumed_at = statement_timestamp(), updated_at = statement_timestamp(),
       placed_by = coalesce($4, placed_by)
     where workspace_id = $1 and id = $2 and account_id = coalesce($3, account_id) and paused_at is not null
       and (coalesce($4, placed_by) is null or has_role(coalesce($4, placed_by), workspace_id))
     returning id),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $5::jsonb from resumed)
   select id from resumed`,
);
const RELEASE_RUN = sqlStatement(
  'release_run',
  `update work w set parked_at = null, tries = 0, delays = 0, reason = null, due_at = clock_timestamp()
   from execution e
   where e.workspace_id = $1 and e.order_id = $2 and e.status = 'scheduled'
     and w.workspace_id = e.workspace_id and w.kind = '${EXECUTION}' and w.subject_id = e.id and w.parked_at is not null`,
);

/** Resumes a paused order under the lock of its row and makes its latest missed run due. The caller commits. */
export async function resume(
  tx: DbTransaction,
  { caller, orderId, accountId, placerId }: Resumption,
): Promise<{ readonly order: LockedOrder | undefined; readonly isResumed: boolean }> {
  const { workspaceId } = caller;
  const audited = { operation: 'resumeOrder', resource: { type: 'order', id: orderId } };
  const [[order], [resumed]] = await tx.pipeline([
    bind(LOCK_ORDER, workspaceId, orderId, accountId),
    bind(RESUME_ORDER, workspaceId, orderId, accountId, placerId, entriesOf(caller, audited)),
  ] as const);
  if (resumed) await tx.pipeline([bind(RELEASE_RUN, workspaceId, orderId)]);
  return { order, isResumed: resumed !== undefined };
}

/**
 * Resumes a paused order for an administrator, who becomes its placer. Retried once if the connection is lost around the commit: an order
 * that is not paused then and has this placer was resumed by the first attempt.
 *
 * @throws Refusal `order_not_found`, `order_not_paused`, `workspace_forbidden` if the administrator has just lost the role, and
 *   `outcome_unknown` if the retry fails as well
 */
export async function resumeOrder(reading: Reading, caller: AuditedCall, name: OrderName): Promise<Order> {
  return retryInDoubt((isRetry) => resumeFor(reading, caller, name, isRetry), IN_DOUBT_POLICIES.change);
}

async function resumeFor(
  { database, reference }: Reading,
  caller: AuditedCall,
  name: OrderName,
  isRetry: boolean,
): Promise<Order> {
  const { workspaceId, actor } = caller;
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = orderQuery(workspaceId, name);
  const row = await database.transaction(scope, async (tx) => {
    const { order, isResumed } = await resume(tx, { caller, ...name, placerId: actor });
    if (!order) throw new Refusal('order_not_found');
    const isDone = isResumed || (isRetry && !order.is_paused && Number(order.placer_id) === actor);
    if (!isDone) throw new Refusal(order.is_paused ? 'workspace_forbidden' : 'order_not_paused');
    const [, [resumed]] = await tx.commit([PLAN_BY_ORDER, bound] as const);
    return resumed!;
  });
  return composeChanged((current) => compose(current, row));
}
