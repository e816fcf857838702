import type { ServiceAccountId, ServiceAccountKeyId, UserId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { RoleName } from './user.js';

/** What a credential may do with one kind of resource, as a scope of OAuth 2.0 (RFC 6749, section 3.3): `orders:create`. */
export type OperationScope = `${string}:${'read' | 'create' | 'update' | 'delete'}`;

/** The roles that a service account may have. None of them approves or administers. */
export const SERVICE_ACCOUNT_ROLES = ['viewer', 'member'] as const satisfies readonly RoleName[];

export type ServiceAccountRole = (typeof SERVICE_ACCOUNT_ROLES)[number];

/** A program that calls the service in one workspace. Its id is that of the actor in events and in the audit trail. */
export interface ServiceAccount {
  readonly id: ServiceAccountId;
  readonly name: string;
  /** Empty for an account that may do nothing. */
  readonly roles: readonly Open<ServiceAccountRole>[];
  /** What it may do of what its roles allow. Missing for all of it. */
  readonly scopes?: readonly Open<OperationScope>[];
  /** The administrator who created it. Missing for an operator. */
  readonly createdBy?: UserId;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

/** A key of a service account, without its secret. */
export interface ServiceAccountKey {
  readonly id: ServiceAccountKeyId;
  readonly serviceAccountID: ServiceAccountId;
  /** The networks that its requests may come from, in CIDR notation. Empty for all. */
  readonly networks: readonly string[];
  /** Missing for a key without an end. */
  readonly expiresAt?: Timestamp;
  /** The begin of the minute of its last request. Missing for a key that was never used. */
  readonly lastUsedAt?: Timestamp;
  /** The administrator who created it. Missing for an operator. */
  readonly createdBy?: UserId;
  readonly createdAt: Timestamp;
}

/** A new key with its text, which is shown once. */
export interface ServiceAccountKeyWithSecret extends ServiceAccountKey {
  /** The bearer token, as `keyText` writes it. Missing in the replay of a request, because the service stores only its hash. */
  readonly secret?: string;
}
