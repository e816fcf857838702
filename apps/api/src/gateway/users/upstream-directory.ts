import {
  type AppId,
  Directory,
  type DirectoryUser,
  foldEmail,
  type Grant,
  isRoleName,
  type RoleName,
  type Subject,
  type User,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { type AppUsers, rolesOf, type UserLists } from './user-lists.js';

/** Users by the e-mail they sign in with, and the users who have no access because the lists contradict each other about them. */
interface Index {
  readonly users: ReadonlyMap<string, DirectoryUser>;
  readonly ambiguous: readonly UserId[];
}

/**
 * The users and roles of the upstream, from its user lists. A subject is identified by the e-mail that its issuer has verified. A
 * subject without one is no user.
 */
export class UpstreamDirectory extends Directory {
  private readonly indexes = new WeakMap<readonly AppUsers[], Index>();
  private lastWarned = '';

  constructor(
    private readonly lists: UserLists,
    private readonly warn: (fields: { readonly userIds: readonly UserId[] }, message: string) => void,
  ) {
    super();
  }

  async userOf({ email }: Subject, wanted?: WorkspaceId): Promise<DirectoryUser | undefined> {
    const folded = email === undefined ? undefined : foldEmail(email);
    if (folded === undefined) return undefined;
    const userIn = (lists: readonly AppUsers[]) => this.indexOf(lists).users.get(folded);
    const contains = (lists: readonly AppUsers[]) => {
      const user = userIn(lists);
      if (user === undefined || wanted === undefined) return user !== undefined;
      return user.grants.some(({ workspaceId }) => workspaceId === wanted);
    };
    return userIn(await this.lists.find(contains));
  }

  /** Computed once for each read of the lists. */
  private indexOf(lists: readonly AppUsers[]): Index {
    const known = this.indexes.get(lists);
    if (known) return known;
    const index = indexUsers(lists);
    this.indexes.set(lists, index);
    this.warnOf(index.ambiguous);
    return index;
  }

  /** Logs each change once: the lists are read every few seconds. */
  private warnOf(userIds: readonly UserId[]): void {
    const text = userIds.join();
    if (text !== '' && text !== this.lastWarned) this.warn({ userIds }, AMBIGUOUS);
    this.lastWarned = text;
  }
}

const AMBIGUOUS =
  'ambiguous upstream users: one e-mail has several ids, or one id several e-mails; they have no access until the upstream lists each once';

/** A role that the lists name of a user. */
interface ListedRole extends Pick<Grant, 'workspaceId' | 'appId'> {
  readonly role: RoleName;
}

/** All users whom the lists name without contradiction: an e-mail has one id in all apps, and an id one e-mail. */
function indexUsers(lists: readonly AppUsers[]): Index {
  const listed = new Map<string, Map<UserId, ListedRole[]>>();
  const emails = new Map<UserId, Set<string>>();
  for (const { app, users } of lists) {
    for (const user of users) {
      const email = foldEmail(user.email);
      if (email === undefined) continue;
      const byId = listed.get(email) ?? new Map<UserId, ListedRole[]>();
      byId.set(user.id, [...(byId.get(user.id) ?? []), ...listedRolesOf(user, app.id)]);
      listed.set(email, byId);
      emails.set(user.id, (emails.get(user.id) ?? new Set()).add(email));
    }
  }
  const everyone = [...listed.values()].flatMap((byId) => [...byId.values()]);
  const meanings = everyone.some(areSeparate) ? SEPARATE_ROLES : PUBLISHED_ROLES;
  const users = new Map<string, DirectoryUser>();
  const ambiguous = new Set<UserId>();
  for (const [email, byId] of listed) {
    const ids = [...byId.keys()];
    const isOne = ids.length === 1 && ids.every((id) => emails.get(id)?.size === 1);
    if (!isOne) ids.forEach((id) => ambiguous.add(id));
    else for (const [id, roles] of byId) users.set(email, { id, grants: grantsOf(roles, meanings) });
  }
  return { users, ambiguous: [...ambiguous].sort((one, other) => one - other) };
}

/** An unknown role grants no access. */
function listedRolesOf(user: User, appId: AppId): ListedRole[] {
  return rolesOf(user).flatMap(({ role, edges }) =>
    isRoleName(role) ? [{ workspaceId: edges.workspace.id, role, appId }] : [],
  );
}

/** The roles of our own books that a listed role stands for. */
type Meanings = Readonly<Record<RoleName, readonly RoleName[]>>;

const SEPARATE_ROLES: Meanings = {
  viewer: ['viewer'],
  member: ['member'],
  approver: ['approver'],
  admin: ['admin'],
};

/** In the published interface, a user has one role in a workspace, member or administrator, and administrators pay too. */
const PUBLISHED_ROLES: Meanings = { ...SEPARATE_ROLES, admin: ['admin', 'member'] };

/** Whether the listed roles of a user show that the upstream has the roles of our own books. */
const areSeparate = (roles: readonly ListedRole[]): boolean =>
  roles.some(
    ({ role, workspaceId }) =>
      role === 'viewer' ||
      role === 'approver' ||
      roles.some((other) => other.workspaceId === workspaceId && other.role !== role),
  );

function grantsOf(listed: readonly ListedRole[], meanings: Meanings): Grant[] {
  const grants = new Map<WorkspaceId, Grant>();
  for (const { workspaceId, role, appId } of listed) {
    const roles = new Set([...(grants.get(workspaceId)?.roles ?? []), ...meanings[role]]);
    grants.set(workspaceId, { workspaceId, roles: [...roles], appId });
  }
  return [...grants.values()];
}
