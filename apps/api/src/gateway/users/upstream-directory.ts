import {
  Directory,
  type DirectoryUser,
  foldEmail,
  type Grant,
  type RoleName,
  type Subject,
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

/** All users whom the lists name without contradiction: an e-mail has one id in all apps, and an id one e-mail. */
function indexUsers(lists: readonly AppUsers[]): Index {
  const grants = new Map<string, Map<UserId, Grant[]>>();
  const emails = new Map<UserId, Set<string>>();
  for (const { app, users } of lists) {
    for (const user of users) {
      const email = foldEmail(user.email);
      if (email === undefined) continue;
      const byId = grants.get(email) ?? new Map<UserId, Grant[]>();
      byId.set(user.id, [...(byId.get(user.id) ?? []), ...grantsOf(user, app.id)]);
      grants.set(email, byId);
      emails.set(user.id, (emails.get(user.id) ?? new Set()).add(email));
    }
  }
  const users = new Map<string, DirectoryUser>();
  const ambiguous = new Set<UserId>();
  for (const [email, byId] of grants) {
    const ids = [...byId.keys()];
    const isOne = ids.length === 1 && ids.every((id) => emails.get(id)?.size === 1);
    if (!isOne) ids.forEach((id) => ambiguous.add(id));
    else for (const [id, granted] of byId) users.set(email, { id, grants: lowestRoles(granted) });
  }
  return { users, ambiguous: [...ambiguous].sort((one, other) => one - other) };
}

/** An unknown role grants no access. */
function grantsOf(user: AppUsers['users'][number], appId: AppUsers['app']['id']): Grant[] {
  return rolesOf(user)
    .filter(({ role }) => isRoleName(role))
    .map(({ role, edges }) => ({ workspaceId: edges.workspace.id, role: role as RoleName, appId }));
}

/** If the lists name two roles in one workspace, the lower one applies. */
function lowestRoles(grants: readonly Grant[]): readonly Grant[] {
  const isMember = (workspaceId: WorkspaceId) =>
    grants.some((grant) => grant.workspaceId === workspaceId && grant.role === 'member');
  return grants.filter(({ workspaceId, role }) => role === 'member' || !isMember(workspaceId));
}

const isRoleName = (role: string): role is RoleName => role === 'member' || role === 'admin';
