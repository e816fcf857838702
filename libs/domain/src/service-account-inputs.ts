import type { ServiceAccountId, ServiceAccountKeyId, PlainNumber } from './ids.js';
import type { PageQuery } from './lists.js';
import type { OperationScope, ServiceAccountRole } from './resources/service-account.js';

/** The maximum number of service accounts of a workspace. */
export const SERVICE_ACCOUNTS_MAX = 50;
/** The maximum number of keys of a service account that are neither revoked nor expired. */
export const SERVICE_ACCOUNT_KEYS_MAX = 10;
/** The maximum number of networks of a key. */
export const KEY_NETWORKS_MAX = 20;
/** How long a former key stays valid after a rotation, in seconds. Default and maximum: a day, and 30 days. */
export const KEY_OVERLAP_S = { default: 86_400, max: 2_592_000 } as const;
/** The maximum length of the name of a service account, in characters. */
export const SERVICE_ACCOUNT_NAME_MAX = 140;

/** Input of `createServiceAccount`. */
export interface CreateServiceAccountInput {
  /** 1 to 140 characters of free text (`isFreeText`). */
  readonly name: string;
  /** At least one. */
  readonly roles: readonly ServiceAccountRole[];
  /** What it may do of what its roles allow. All of it if they are empty or omitted. */
  readonly scopes?: readonly OperationScope[] | undefined;
}

/** Names a service account of the workspace. */
export interface ServiceAccountName {
  readonly serviceAccountId: ServiceAccountId | PlainNumber;
}

/** Input of `changeServiceAccount`. Omitted fields stay. */
export interface ServiceAccountChange extends ServiceAccountName {
  readonly name?: string | undefined;
  /** All its roles. An account that loses its last role loses its keys for ever. */
  readonly roles?: readonly ServiceAccountRole[] | undefined;
  /** All its scopes. Empty for all that its roles allow. */
  readonly scopes?: readonly OperationScope[] | undefined;
}

/** The keys of a service account. */
export interface ServiceAccountKeyQuery extends ServiceAccountName, PageQuery {}

/** Input of `createServiceAccountKey`. */
export interface CreateServiceAccountKeyInput extends ServiceAccountName {
  /** Addresses and networks such as `203.0.113.0/24`, at most 20. All if they are empty or omitted. */
  readonly networks?: readonly string[] | undefined;
  /** RFC 3339 with an offset, in the future. Without it, the key has no end. */
  readonly expiresAt?: string | undefined;
}

/** Names a key of a service account. */
export interface ServiceAccountKeyName extends ServiceAccountName {
  readonly keyId: ServiceAccountKeyId | PlainNumber;
}

/** Input of `rotateServiceAccountKey`. */
export interface ServiceAccountKeyRotation extends ServiceAccountKeyName {
  /** How long the former key stays valid, in whole seconds: 0 to 2,592,000. Default 86,400. */
  readonly overlapSeconds?: number | undefined;
  /** The end of the new key. Without it, the new key has no end. */
  readonly expiresAt?: string | undefined;
}
