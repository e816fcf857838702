import { type Order, type OrderName, type PauseReason, PAYER, Refusal } from '@banking/domain';
import {
  bind,
  type BoundStatement,
  type Database,
  DatabaseError,
  type DbTransaction,
  RULE_VIOLATION,
  sqlStatement,
} from '@banking/postgres';
import { type Claim, holdWork, parkWork } from '@banking/work-queue';
import { type AuditedCall, auditEntry, BY_SYSTEM, entriesOf, noteAudit } from '../audit/audited-call.js';
import { IN_DOUBT_POLICIES, retryInDoubt } from '../idempotency/create-once.js';
import { PLAN_BY_ORDER } from '../lists/paged-list.js';
import type { Reading } from '../resources/reading.js';
import { EXECUTION } from './schedule.js';
import { orderQuery } from './read-orders.js';

/** Comes first, as it does in a run: the lock of the order's row decides between a cancellation and a run. */
const CANCEL_ORDER = sqlStatement<{ id: bigint }>(
  'cancel_order',
  `with cancelled as (
     update customer_order set status = 'cancelled', paused_at = null, pause_reason = null, updated_at = statement_timestamp()
     where workspace_id = $1 and account_id = $2 and id = $3 and status = 'active'
     returning id),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $4::jsonb from cancelled)
   select id from cancelled`,
);

/** A query of its own, so that it reads a run that was committed while this session waited for the order. */
const CANCEL_RUNS = sqlStatement(
  'cancel_runs',
  `update execution e set status = 'cancelled'
   from customer_order o
   where o.workspace_id = $1 and o.id = $2 and o.status = 'cancelled'
     and (e.workspace_id, e.order_id) = (o.workspace_id, o.id) and e.status in ('awaiting_approval', 'scheduled')`,
);

/** Queued work of a cancelled run ends when it is claimed. Parked work is never claimed. */
const DELETE_PARKED_RUNS = sqlStatement(
  'delete_parked_runs',
  `delete from work w using execution e
   where e.workspace_id = $1 and e.order_id = $2 and e.status = 'cancelled'
     and w.workspace_id = e.workspace_id and w.kind = '${EXECUTION}' and w.subject_id = e.id and w.parked_at is not null`,
);

const LOCK_ORDER_OF_RUN = sqlStatement(
  'lock_order_of_run',
  `select from customer_order o
   where o.workspace_id = $1 and o.id = (select e.order_id from execution e where e.workspace_id = $1 and e.id = $2) for share of o`,
);

const DELETE_CANCELLED_RUN = sqlStatement(
  'delete_cancelled_run',
  `delete from work w using execution e
   where e.workspace_id = $1 and e.id = $2 and e.status = 'cancelled'
     and w.workspace_id = $1 and w.kind = '${EXECUTION}' and w.subject_id = $2 and w.parked_at is not null`,
);

/** Deletes the work of a run that is being parked if its order was cancelled while the run was claimed. */
export const deleteIfCancelled = ({ workspaceId, subjectId }: Claim): BoundStatement<unknown>[] => [
  bind(LOCK_ORDER_OF_RUN, workspaceId, subjectId),
  bind(DELETE_CANCELLED_RUN, workspaceId, subjectId),
];

/**
 * Cancels an order. Retried once if the connection is lost around the commit: the lost session holds the lock of the order's row to its
 * end, so the retry finds the order cancelled or cancels it.
 *
 * @throws Refusal `order_not_found`, `order_not_cancellable`, and `outcome_unknown` if the retry fails as well
 */
export async function cancelOrder(reading: Reading, caller: AuditedCall, name: OrderName): Promise<Order> {
  return retryInDoubt((isRetry) => cancel(reading, caller, name, isRetry), IN_DOUBT_POLICIES.change);
}

async function cancel(
  { database, reference }: Reading,
  caller: AuditedCall,
  name: OrderName,
  isRetry: boolean,
): Promise<Order> {
  const { workspaceId, actor } = caller;
  const { accountId, orderId } = name;
  const audited = { operation: 'cancelOrder', resource: { type: 'order', id: orderId } };
  const scope = { workspaces: [workspaceId], user: actor };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = orderQuery(workspaceId, name);
  const [cancelled, , , , [row]] = await database.transaction(scope, (tx) =>
    tx.commit([
      bind(CANCEL_ORDER, workspaceId, accountId, orderId, entriesOf(caller, audited)),
      bind(CANCEL_RUNS, workspaceId, orderId),
      bind(DELETE_PARKED_RUNS, workspaceId, orderId),
      PLAN_BY_ORDER,
      bound,
    ] as const),
  );
  if (!row) throw new Refusal('order_not_found');
  const isDone = cancelled.length > 0 || (isRetry && row.orderStatus === 'cancelled');
  if (!isDone) throw new Refusal('order_not_cancellable');
  return composeChanged((current) => compose(current, row));
}

/** A query of its own. The next query reads what a resumption or cancellation committed while this one waited. */
const LOCK_TO_PAUSE = sqlStatement(
  'lock_order_to_pause',
  'select from customer_order where workspace_id = $1 and id = $2 for no key update',
);

/** Runs under the lock of the order, which may have been resumed or cancelled since its run was read. */
const PAUSE_ORDER = sqlStatement<{ pause_reason: PauseReason; is_new: boolean }>(
  'pause_order',
  `update customer_order o
   set paused_at = coalesce(o.paused_at, statement_timestamp()), updated_at = statement_timestamp(),
     pause_reason = coalesce(o.pause_reason, pause_required(o.workspace_id, o.id))
   where o.workspace_id = $1 and o.id = $2 and o.status = 'active'
     and (o.paused_at is not null or pause_required(o.workspace_id, o.id) is not null)
   returning o.pause_reason, o.paused_at = statement_timestamp() as is_new`,
);

/** Shown to the operator with the parked work. */
const CAUSES: Readonly<Record<PauseReason, string>> = {
  payouts_rejected: 'is paused after three rejected payouts',
  placer_without_role: 'is paused: the user who placed it is no member of the workspace',
};

/** Whether the database rejected a run because its order is paused, or must be. */
export const isPauseRequired = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === RULE_VIOLATION.orderPaused;

/**
 * Pauses an order instead of running it. The run stays scheduled, and its work is parked until the order is resumed, which ends the
 * claim. Returns false if the order no longer has to be paused.
 */
export async function pauseOrder(database: Database, claim: Claim, orderId: number): Promise<boolean> {
  const { workspaceId } = claim;
  return database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [, , [paused]] = await tx.pipeline([
      holdWork(claim),
      bind(LOCK_TO_PAUSE, workspaceId, orderId),
      bind(PAUSE_ORDER, workspaceId, orderId),
    ] as const);
    if (!paused) return false;
    const change = { operation: 'pauseOrder', resource: { type: 'order', id: orderId } };
    await tx.commit([
      ...parkWork(claim, `order ${orderId} ${CAUSES[paused.pause_reason]}; see banking order resume`),
      ...(paused.is_new ? [noteAudit([auditEntry(workspaceId, change, BY_SYSTEM)])] : []),
    ]);
    return true;
  });
}

/** An order to resume. It stays with the user who placed it, unless another one is named. */
interface Resumption {
  /** For the audit trail. */
  readonly caller: AuditedCall;
  readonly orderId: number;
  readonly accountId?: number;
  /** The new placer. */
  readonly placerId?: number | undefined;
  /** The new placer if the user who placed it is no member. */
  readonly substituteId?: number | undefined;
}

interface LockedOrder {
  readonly is_paused: boolean;
  /** The user who changed it last, or null if none did. */
  readonly changed_by: bigint | null;
  /** The e-mail of the user who placed it, or null if the user is unknown or was removed. */
  readonly placer: string | null;
  /** Whether its approval keeps it from the new placer. */
  readonly is_kept: boolean;
}

const LOCK_TO_RESUME = sqlStatement<LockedOrder>(
  'lock_order_to_resume',
  `select o.paused_at is not null as is_paused, (select u.email from app_user u where u.id = o.placed_by) as placer,
     $4::bigint is not null and not may_take_over(o.workspace_id, o.approval_id, $4) as is_kept,
     (select c.user_id from order_change c where c.workspace_id = o.workspace_id and c.order_id = o.id order by c.id desc limit 1) as changed_by
   from customer_order o
   where o.workspace_id = $1 and o.id = $2 and o.account_id = coalesce($3, o.account_id)
   for no key update`,
);

/** Requires a placer who is a member, and a new one whom the approval allows. Without a member the order would be paused again at once. */
const RESUME_ORDER = sqlStatement<{ id: bigint }>(
  'resume_order',
  `with paused as (
     select id, coalesce($4, case when has_role(placed_by, workspace_id, '${PAYER}') then placed_by end,
              case when placed_by is not null then $5::bigint end, placed_by) as placer
     from customer_order
     where workspace_id = $1 and id = $2 and account_id = coalesce($3, account_id) and paused_at is not null),
   resumed as (
     update customer_order o
     set paused_at = null, pause_reason = null, resumed_at = statement_timestamp(), updated_at = statement_timestamp(),
       placed_by = p.placer
     from paused p
     where o.workspace_id = $1 and o.id = p.id and (p.placer is null or has_role(p.placer, o.workspace_id, '${PAYER}'))
       and (p.placer is not distinct from o.placed_by or may_take_over(o.workspace_id, o.approval_id, p.placer))
     returning o.id),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $6::jsonb from resumed)
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
  { caller, orderId, accountId, placerId, substituteId }: Resumption,
): Promise<{ readonly order: LockedOrder | undefined; readonly isResumed: boolean }> {
  const { workspaceId } = caller;
  const audited = { operation: 'resumeOrder', resource: { type: 'order', id: orderId } };
  const [[order], [resumed]] = await tx.pipeline([
    bind(LOCK_TO_RESUME, workspaceId, orderId, accountId, placerId ?? substituteId),
    bind(RESUME_ORDER, workspaceId, orderId, accountId, placerId, substituteId, entriesOf(caller, audited)),
  ] as const);
  if (resumed) await tx.pipeline([bind(RELEASE_RUN, workspaceId, orderId)]);
  return { order, isResumed: resumed !== undefined };
}

/**
 * Resumes a paused order for an administrator. It stays with its placer while that user is a member; otherwise the administrator, who then
 * has to be a member, becomes its placer. Retried once if the connection is lost around the commit: an order that is not paused then and
 * was changed last by this user was resumed by the first attempt.
 *
 * @throws Refusal `order_not_found`, `order_not_paused`, `approver_is_maker` if the order waits for approvals or the administrator has
 *   decided on it, `role_insufficient` if neither user is a member, and `outcome_unknown` if the retry fails as well
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
  const scope = { workspaces: [workspaceId], user: actor };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = orderQuery(workspaceId, name);
  const row = await database.transaction(scope, async (tx) => {
    const { order, isResumed } = await resume(tx, { caller, ...name, substituteId: actor });
    if (!order) throw new Refusal('order_not_found');
    const isDone = isResumed || (isRetry && !order.is_paused && String(order.changed_by) === String(actor));
    if (!isDone && !order.is_paused) throw new Refusal('order_not_paused');
    if (!isDone) throw new Refusal(order.is_kept ? 'approver_is_maker' : 'role_insufficient');
    const [, [resumed]] = await tx.commit([PLAN_BY_ORDER, bound] as const);
    return resumed!;
  });
  return composeChanged((current) => compose(current, row));
}
