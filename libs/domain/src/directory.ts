import type { AppId, ServiceAccountKeyId, UserId, WorkspaceId } from './ids.js';
import type { OperationScope } from './resources/service-account.js';
import type { RoleName } from './resources/user.js';

/** The subject of a credential, as its issuer names it. */
export interface Subject {
  readonly issuer: string;
  /** Unique within its issuer. */
  readonly subject: string;
  /** Present only if the issuer has verified it. */
  readonly email?: string | undefined;
  /** False if the e-mails of the issuer find no user: then one only refuses the invitations to others. Default true. */
  readonly bindsByEmail?: false;
}

/** The roles in one workspace, at least one, and the app of the workspace. */
export interface Grant {
  readonly workspaceId: WorkspaceId;
  readonly roles: readonly RoleName[];
  readonly appId: AppId;
}

/** The issuer of the subjects of keys: the service itself. Such a subject is the id of a key. */
export const KEY_ISSUER = 'urn:banking:keys';

/** A key of a service account, which is neither revoked nor expired. */
export interface DirectoryKey {
  readonly id: ServiceAccountKeyId;
  /** SHA-256 of its text. */
  readonly hash: Uint8Array;
  /** Undefined for all that the roles allow. */
  readonly scopes?: readonly OperationScope[] | undefined;
  /** In CIDR notation. Empty for all. */
  readonly networks: readonly string[];
  /** Milliseconds since 1970. Undefined for a key without an end. */
  readonly expiresAtMs?: number | undefined;
}

/** A user with all grants, a person or a service account. A user whose sign-up is not complete has none. */
export interface DirectoryUser {
  readonly id: UserId;
  readonly grants: readonly Grant[];
  /** Of a subject of {@link KEY_ISSUER}. The caller compares the hash. */
  readonly key?: DirectoryKey | undefined;
}

/** The second port: the user of a credential, with the roles in each workspace. */
export abstract class Directory {
  /**
   * Finds the user of a subject. The first match by a verified e-mail may bind the subject to the user; after that
   * only issuer and subject count.
   *
   * Returns `undefined` for an unknown subject. That is not a refusal: the caller decides about the response.
   *
   * @param wanted the workspace of the request. A directory with a cache reads again if the cached user has no role there.
   * @throws Refusal `unavailable` if the implementation cannot reach its data.
   */
  abstract userOf(subject: Subject, wanted?: WorkspaceId): Promise<DirectoryUser | undefined>;

  /**
   * Notes the minute in which a key was used. An implementation without keys does nothing.
   *
   * @throws Refusal `unavailable` if the implementation cannot reach its data.
   */
  noteKeyUse(_keyId: ServiceAccountKeyId): Promise<void> {
    return Promise.resolve();
  }
}
