import { bind, statement, type Tx } from '@banking/postgres';
import { EXECUTION } from './orders/order-rows.js';

/** Which order, and the user it is handed to; left out where it stays with the user who placed it. */
interface Resumption {
  readonly workspaceId: number;
  readonly orderId: number;
  readonly accountId?: number;
  readonly placerId?: number | undefined;
}

interface LockedOrder {
  readonly is_paused: boolean;
  readonly placed_by: bigint | null;
  /** The e-mail of the user who placed it; null where the user is not known or was removed. */
  readonly placer: string | null;
}

const LOCK_ORDER = statement<LockedOrder>(
  'lock_order_to_resume',
  `select o.paused_at is not null as is_paused, o.placed_by, (select u.email from app_user u where u.id = o.placed_by) as placer
   from customer_order o
   where o.workspace_id = $1 and o.id = $2 and o.account_id = coalesce($3, o.account_id)
   for no key update`,
);
/** An order whose placer has no role would be paused again at once. */
const RESUME_ORDER = statement<{ id: bigint }>(
  'resume_order',
  `update customer_order
   set paused_at = null, pause_reason = null, resumed_at = statement_timestamp(), updated_at = statement_timestamp(),
     placed_by = coalesce($4, placed_by)
   where workspace_id = $1 and id = $2 and account_id = coalesce($3, account_id) and paused_at is not null
     and (coalesce($4, placed_by) is null or has_role(coalesce($4, placed_by), workspace_id))
   returning id`,
);
const RELEASE_RUN = statement(
  'release_run',
  `update work w set parked_at = null, tries = 0, delays = 0, reason = null, due_at = clock_timestamp()
   from execution e
   where e.workspace_id = $1 and e.order_id = $2 and e.status = 'scheduled'
     and w.workspace_id = e.workspace_id and w.kind = '${EXECUTION}' and w.subject_id = e.id and w.parked_at is not null`,
);

/** Resumes a paused order behind the lock of its row, and makes its missed run due, once. Nothing is committed. */
export async function resume(
  tx: Tx,
  { workspaceId, orderId, accountId, placerId }: Resumption,
): Promise<{ readonly order: LockedOrder | undefined; readonly isResumed: boolean }> {
  const [[order], [resumed]] = await tx.flight([
    bind(LOCK_ORDER, workspaceId, orderId, accountId),
    bind(RESUME_ORDER, workspaceId, orderId, accountId, placerId),
  ] as const);
  if (resumed) await tx.flight([bind(RELEASE_RUN, workspaceId, orderId)]);
  return { order, isResumed: resumed !== undefined };
}
