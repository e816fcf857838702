import type { AppId, UserId, WorkspaceId } from './ids.js';
import type { RoleName } from './resources/user.js';

/** Who a credential speaks for, in the words of its issuer. */
export interface Subject {
  readonly issuer: string;
  /** Unique within its issuer. */
  readonly subject: string;
  /** Given only when the issuer has verified it. */
  readonly email?: string | undefined;
}

/** A role in one workspace, and the app the workspace is used from. */
export interface Grant {
  readonly workspaceId: WorkspaceId;
  readonly role: RoleName;
  readonly appId: AppId;
}

/** A user and everything they may do. A user who has not finished signing up has no grants. */
export interface DirectoryUser {
  readonly id: UserId;
  readonly grants: readonly Grant[];
}

/** The second port: which user a credential speaks for, and in which workspaces they have which role. */
export abstract class Directory {
  /**
   * Finds the user of a subject. The first match by a verified e-mail may bind the subject to the user; after that
   * only issuer and subject count.
   *
   * Answers `undefined` for somebody we do not know, which is not a refusal: the door decides what to say.
   *
   * @param wanted where a role is looked for: a directory that keeps what it has read looks again when the user has none there
   * @throws Refusal `unavailable` when the backing cannot be reached.
   */
  abstract userOf(subject: Subject, wanted?: WorkspaceId): Promise<DirectoryUser | undefined>;
}
