import type { UserId, WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import { resume } from '../orders/resume-order.js';
import { actAs, emailOf, type Operator, ProvisioningError } from './trail.js';

export interface OrderResumption {
  readonly workspaceId: number;
  readonly orderId: number;
  /** The e-mail of the new placer. Without it, the placer stays. */
  readonly placer?: string | undefined;
}

const FIND_USER = sqlStatement<{ id: bigint }>('find_user_by_email', 'select id from app_user where email = $1');

/**
 * Resumes a paused order for an operator. Its missed run is due now, once. Earlier rejections do not pause it again.
 *
 * @throws ProvisioningError if the order does not exist or is not paused, or if its placer has no role in the workspace: it would be
 *   paused again
 */
export async function resumePausedOrder(
  database: Database,
  operator: Operator,
  { workspaceId, orderId, placer }: OrderResumption,
): Promise<void> {
  const caller = { workspaceId: workspaceId as WorkspaceId, actor: undefined, origin: { operator } };
  const email = placer === undefined ? undefined : emailOf(placer);
  const name = `order ${orderId} of workspace ${workspaceId}`;
  await database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [, [user]] = await tx.pipeline([actAs(operator), bind(FIND_USER, email)] as const);
    if (email !== undefined && !user) throw new ProvisioningError(`There is no user ${email}. See banking user list.`);
    const { order, isResumed } = await resume(tx, { caller, orderId, placerId: user && (Number(user.id) as UserId) });
    if (!order) throw new ProvisioningError(`There is no ${name}.`);
    if (!order.is_paused) throw new ProvisioningError(`The ${name} is not paused.`);
    if (!isResumed) throw new ProvisioningError(withoutRole(name, workspaceId, email, order.placer));
    await tx.commit();
  });
}

function withoutRole(name: string, workspaceId: number, email: string | undefined, placer: string | null): string {
  if (email !== undefined) {
    return (
      `${email} has no role in workspace ${workspaceId}: only a completed user with a grant has one. ` +
      'See banking user list and banking grant list.'
    );
  }
  const reason = placer === null ? 'was removed' : `(${placer}) has no role in the workspace`;
  return (
    `The user who placed ${name} ${reason}, so it would be paused again. ` +
    'Give the user the role back, or hand the order to another user with --placer.'
  );
}
