import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { RoleName, Scope, UserId, WorkspaceId } from '@banking/domain';
import type { RequestContext } from '../http/request-context.js';
import type { OperationId } from './access-matrix.js';

declare const checked: unique symbol;

/**
 * A Scope whose access has been checked. The access check makes it, and controllers pass nothing else to the port. An operation that is open
 * to persons who are no users takes a Scope instead, which may have no actor.
 */
export type Caller = Scope & {
  readonly actor: UserId;
  readonly workspaceId?: WorkspaceId;
  readonly roles?: readonly RoleName[];
  readonly [checked]: true;
};

export interface CalledRequest extends RequestContext {
  operation?: OperationId;
  caller?: Caller;
}

export const CalledBy = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<CalledRequest>();
  if (!caller) throw new Error('no caller: the operation is public, or its access was not checked');
  return caller;
});

/** Checks the access of a held request again. @throws Refusal if the caller may not call the operation any more */
export async function confirmAccess({ confirmAccess: confirm }: RequestContext): Promise<void> {
  if (!confirm) throw new Error('the operation does not declare that its requests are held');
  return confirm();
}
