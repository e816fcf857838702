import type { AppId, RoleId, UserId, WorkspaceId } from '../ids.js';
import type { Timestamp } from '../timestamp.js';
import type { Open } from '../open.js';
import type { UserStatus } from '../states.js';

/** An application of the service. A user belongs to one or several. */
export interface App {
  readonly id: AppId;
  readonly name: string;
  readonly createdAt?: Timestamp;
}

export const PARTY_TYPES = ['personal', 'business'] as const;

/** Whether a user or a workspace is personal or of a company. */
export type PartyType = (typeof PARTY_TYPES)[number];

/** The roles of our own books. None includes another, and a user may have several in a workspace. */
export const ROLE_NAMES = ['viewer', 'member', 'approver', 'admin'] as const;

export type RoleName = (typeof ROLE_NAMES)[number];

export const isRoleName = (name: string): name is RoleName => (ROLE_NAMES as readonly string[]).includes(name);

/** A user as listed for an app. */
export interface User {
  readonly id: UserId;
  readonly email: string;
  readonly status?: Open<UserStatus>;
  readonly userType?: PartyType;
  readonly createdAt?: Timestamp;
  readonly edges: {
    /** Always present in our responses, empty for a user without a role. */
    readonly roles?: readonly Role[];
  };
}

/** One of the roles that a user has in a workspace. */
export interface Role {
  readonly id: RoleId;
  readonly role: Open<RoleName>;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly workspace: Workspace;
  };
}

/** A workspace. Its id is the value of the Workspace-ID header. */
export interface Workspace {
  readonly id: WorkspaceId;
  readonly name: string;
  readonly type?: PartyType;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
}
