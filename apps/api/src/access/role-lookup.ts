import type { Directory, DirectoryUser, Grant, RoleName, Subject, WorkspaceId } from '@banking/domain';
import { ExpiringCache } from '@banking/process';

export function suffices(roles: readonly RoleName[], needed: readonly RoleName[]): boolean {
  return roles.some((role) => needed.includes(role));
}

/** A removed role, and the absence of a user, take effect within this time. A new role takes effect at once. */
const TTL_MS = 1_000;
const ENTRIES_MAX = 10_000;

export class RoleLookup {
  private readonly users: ExpiringCache<DirectoryUser | undefined>;

  constructor(
    private readonly directory: Directory,
    nowMs?: () => number,
  ) {
    this.users = new ExpiringCache({ ttlMs: TTL_MS, entriesMax: ENTRIES_MAX, ...(nowMs && { nowMs }) });
  }

  /** The user of a subject if it was looked up within the last second. Undefined if the directory must be read. */
  knownUser(subject: Subject): DirectoryUser | undefined {
    return this.users.peek(keyOf(subject));
  }

  /** Before what makes the subject a user. */
  omit(subject: Subject): void {
    this.users.delete(keyOf(subject));
  }

  userOf(subject: Subject): Promise<DirectoryUser | undefined> {
    return this.users.get(keyOf(subject), () => this.directory.userOf(subject));
  }

  /** The roles of a subject in a workspace, if any. Reads the directory again if the cached user has none of those needed. */
  async rolesIn(
    subject: Subject,
    workspaceId: WorkspaceId,
    needed: readonly RoleName[],
  ): Promise<GrantedRoles | undefined> {
    const cached = grantedRoles(await this.userOf(subject), workspaceId);
    return cached && suffices(cached.roles, needed) ? cached : this.currentRolesIn(subject, workspaceId);
  }

  /** The same from the directory, and not from the cache. */
  async currentRolesIn(subject: Subject, workspaceId: WorkspaceId): Promise<GrantedRoles | undefined> {
    const user = await this.users.refresh(keyOf(subject), () => this.directory.userOf(subject, workspaceId));
    return grantedRoles(user, workspaceId);
  }
}

export interface GrantedRoles extends Pick<Grant, 'roles' | 'workspaceId'> {
  readonly actor: DirectoryUser['id'];
}

export function grantedRoles(user: DirectoryUser | undefined, workspaceId: WorkspaceId): GrantedRoles | undefined {
  const grant = user?.grants.find((candidate) => candidate.workspaceId === workspaceId);
  return user && grant && { actor: user.id, workspaceId, roles: grant.roles };
}

/** An issuer is a URL or a URN and an e-mail is folded, so neither contains a space. Another e-mail may be another user. */
const keyOf = ({ issuer, subject, email = '' }: Subject) => `${issuer} ${email} ${subject}`;
