import type { AppId, UserId, WorkspaceId } from './ids.js';
import type { RoleName } from './resources/user.js';

/** The subject of a credential, as its issuer names it. */
export interface Subject {
  readonly issuer: string;
  /** Unique within its issuer. */
  readonly subject: string;
  /** Present only if the issuer has verified it. */
  readonly email?: string | undefined;
}

/** A role in one workspace, and the app of the workspace. */
export interface Grant {
  readonly workspaceId: WorkspaceId;
  readonly role: RoleName;
  readonly appId: AppId;
}

/** A user with all grants. A user whose sign-up is not complete has none. */
export interface DirectoryUser {
  readonly id: UserId;
  readonly grants: readonly Grant[];
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
}
