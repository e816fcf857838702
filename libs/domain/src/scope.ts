import type { UserId, WorkspaceId } from './ids.js';

/** The platform's `AbortSignal`. A project that compiles without the types of a platform sees no more than whether it is aborted. */
type PlatformSignal = typeof globalThis extends { readonly AbortSignal: { readonly prototype: infer Signal } }
  ? Signal
  : { readonly aborted: boolean };

/** On whose behalf, and in which workspace, an operation is called. Access is checked before a Scope is made. */
export interface Scope {
  /** Required by every operation that belongs to a workspace. */
  readonly workspaceId?: WorkspaceId | undefined;
  /** The user who asks. Where a credential alone says it, as over HTTP, it may be left out. */
  readonly actor?: UserId | undefined;
  /** 1 to 128 letters, digits, dots, dashes and underscores: by what the log of whoever answers names the request. */
  readonly requestId?: string | undefined;
  /**
   * Aborted when the caller's deadline passes. Work that has not begun by then is withdrawn and refused as `unavailable`; what changes
   * something and has begun is finished.
   */
  readonly signal?: PlatformSignal | undefined;
}
