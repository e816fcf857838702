import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { RoleName, Scope, UserId, WorkspaceId } from '@banking/domain';
import type { OperationId } from './matrix.js';

declare const checked: unique symbol;

/** A Scope whose access has been checked. Only the access check makes one, and controllers hand nothing else to the port. */
export type Caller = Scope & {
  readonly actor: UserId;
  readonly workspaceId?: WorkspaceId;
  readonly role?: RoleName;
  readonly [checked]: true;
};

/** What the access check leaves on a request, for the controller and for the log line. */
export interface CalledRequest {
  operation?: OperationId;
  caller?: Caller;
  /** Aborted shortly before the request is answered without its handler; missing for a read. See `boundHandlers`. */
  deadline?: AbortSignal;
  /** The key of a creation, once it was read. */
  idempotencyKey?: string;
  /** Known from the credential on, also when the call is refused afterwards. */
  userId?: UserId;
  /** Why a credential was refused: for the log, not for the caller. */
  why?: string;
}

/** The checked caller of this request. */
export const CalledBy = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<CalledRequest>();
  if (!caller) throw new Error('no caller: the operation is public, or its access was not checked');
  return caller;
});
