import type { Subject } from './directory.js';
import type { ServiceAccountKeyId, UserId, WorkspaceId } from './ids.js';

/** The platform's `AbortSignal`. Without the types of a platform, only its property `aborted` exists. */
type PlatformSignal = typeof globalThis extends { readonly AbortSignal: { readonly prototype: infer Signal } }
  ? Signal
  : { readonly aborted: boolean };

/** Where a call comes from, for the audit trail. It decides nothing. */
export interface Origin {
  /** The issuer of the credential, and the subject that it names. */
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  /** The `jti` of the token. */
  readonly tokenId?: string | undefined;
  /** The client of the token: its `client_id`, or else its `azp`. */
  readonly clientId?: string | undefined;
  /** The key of a service account that calls, instead of a token. */
  readonly keyId?: ServiceAccountKeyId | undefined;
  /** The address that the request came from. */
  readonly sourceAddress?: string | undefined;
  /** Whether an operator acts, without a token. The database names its login. */
  readonly isOperator?: boolean | undefined;
}

/** The workspace and the actor of a call. Access is checked before a scope is created. */
export interface Scope {
  /** Required by every operation that belongs to a workspace. */
  readonly workspaceId?: WorkspaceId | undefined;
  /** The user who calls. It may be omitted over HTTP, where the credential identifies the user. */
  readonly actor?: UserId | undefined;
  /** The subject of the credential, where an operation is open to persons who are no users. It is not sent over HTTP. */
  readonly subject?: Subject | undefined;
  /** The id of the request in the log of the service: 1 to 128 letters, digits, dots, dashes and underscores. */
  readonly requestId?: string | undefined;
  /** Where the call comes from. It is not sent over HTTP. */
  readonly origin?: Origin | undefined;
  /**
   * Aborted when the caller's deadline passes. Work that has not begun is withdrawn and refused as `unavailable`. A write that has
   * begun is finished.
   */
  readonly signal?: PlatformSignal | undefined;
}
