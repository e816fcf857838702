import type { UserId, WorkspaceId } from './ids.js';

/** The platform's `AbortSignal`. Without the types of a platform, only its property `aborted` exists. */
type PlatformSignal = typeof globalThis extends { readonly AbortSignal: { readonly prototype: infer Signal } }
  ? Signal
  : { readonly aborted: boolean };

/** The workspace and the actor of a call. Access is checked before a scope is created. */
export interface Scope {
  /** Required by every operation that belongs to a workspace. */
  readonly workspaceId?: WorkspaceId | undefined;
  /** The user who calls. It may be omitted over HTTP, where the credential identifies the user. */
  readonly actor?: UserId | undefined;
  /** The id of the request in the log of the service: 1 to 128 letters, digits, dots, dashes and underscores. */
  readonly requestId?: string | undefined;
  /**
   * Aborted when the caller's deadline passes. Work that has not begun is withdrawn and refused as `unavailable`. A write that has
   * begun is finished.
   */
  readonly signal?: PlatformSignal | undefined;
}
