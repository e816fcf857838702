import type { Scope } from '@banking/domain';
import type { AuditedCall } from './audit/audited-call.js';

interface ActingScope extends AuditedCall {
  readonly signal: AbortSignal | undefined;
}

/** A missing part of the scope is a programming error of the caller. */
export function required<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the scope lacks a workspace or an actor');
  return part;
}

/** The part of a scope that an operation that writes needs. */
export const acting = ({ workspaceId, actor, requestId, origin, signal }: Scope): ActingScope => ({
  workspaceId: required(workspaceId),
  actor,
  requestId,
  origin,
  signal,
});
