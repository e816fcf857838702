import type { MemberId, OrderId, ServiceAccountKeyId, UserId, WebhookEndpointId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { RoleName, Workspace } from './user.js';

/**
 * `invited`: an invitation, open until `expiresAt`, or a user whose sign-up is not complete. `suspended`: the bank has suspended the user. `removed`: no role
 * is left. Only the roles of an active member count.
 */
export type MemberStatus = 'invited' | 'active' | 'suspended' | 'removed';

/** A user with roles in a workspace, now or earlier, or an invitation of an address that is no user yet. */
export interface Member {
  readonly id: MemberId;
  readonly email: string;
  /** Empty for a removed member. */
  readonly roles: readonly Open<RoleName>[];
  readonly status: Open<MemberStatus>;
  /** Missing for an invitation. */
  readonly userID?: UserId;
  /** Of an open invitation: until when it can be accepted. */
  readonly expiresAt?: Timestamp;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

/** An invited member with the code of the invitation, which is shown once. */
export interface InvitedMember extends Member {
  /** Missing for a user of the service, who has the roles at once, and in the replay of a request. */
  readonly code?: string;
}

/** A removed member, and what the member has made that no longer runs. */
export interface RemovedMember extends Member {
  /** The later and recurring orders that are paused because of the removal. Of over 500, the rest is paused soon after it. */
  readonly pausedOrderIDs: readonly OrderId[];
  /** The webhook endpoints that are disabled because of the removal. */
  readonly disabledWebhookEndpointIDs: readonly WebhookEndpointId[];
  /** The keys of service accounts that the member has created, which are revoked because the member may know them. */
  readonly revokedKeyIDs: readonly ServiceAccountKeyId[];
}

/** A member who has accepted an invitation, with the workspace. */
export interface JoinedMember extends Member {
  readonly edges: {
    readonly workspace: Workspace;
  };
}
