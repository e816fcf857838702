import type { AuditEventId, UserId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';

/** The kinds of actors. `network` is the network that carries payouts, `system` a worker or the service itself. */
export type AuditActorType = 'user' | 'operator' | 'network' | 'system';

/** Who acted. */
export interface AuditActor {
  readonly type: Open<AuditActorType>;
  /** The user, for the type `user`. */
  readonly userID?: UserId;
  /** The issuer of the credential, and the subject that it names. */
  readonly issuer?: string;
  readonly subject?: string;
  /** Instead of the user, the issuer and the subject, if the user has no role in the workspace. Always the same in one workspace. */
  readonly pseudonym?: string;
  /** The `jti` of the token. */
  readonly tokenID?: string;
  /** The client of the token: its `client_id`, or else its `azp`. */
  readonly clientID?: string;
  /** The name that an operator gave, and the name of the account of the operating system. */
  readonly name?: string;
  readonly operatingSystemUser?: string;
}

/** Whether the operation was carried out. Refusals of access are counted by minute. */
export type AuditOutcome = 'done' | 'refused';

/** An entry of the audit trail of a workspace. */
export interface AuditEvent {
  /** 1, 2, 3 … in each workspace. */
  readonly id: AuditEventId;
  readonly createdAt: Timestamp;
  /** The operation, as the OpenAPI document names it, or a name of the service for what no caller can request. */
  readonly operation: string;
  readonly outcome: Open<AuditOutcome>;
  /** The reason of a refusal. */
  readonly reason?: string;
  /** How many requests were refused. Missing for one. */
  readonly count?: number;
  readonly resource?: { readonly type: string; readonly id: number };
  readonly actor: AuditActor;
  readonly requestID?: string;
  /** The address that the request came from. */
  readonly sourceAddress?: string;
  /** SHA-256 of the hash before it and of this entry, in hex: a later change of an entry breaks the chain. */
  readonly hash: string;
}
