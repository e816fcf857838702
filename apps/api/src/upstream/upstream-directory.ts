import { Directory, type DirectoryUser, foldEmail, type Grant, type RoleName, type Subject, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import type { AppUsers, UserLists } from './user-lists.js';
import { rolesOf } from './visible-users.js';

/** Users by the e-mail they sign in with, and those who are nobody because the lists contradict themselves about them. */
interface Index {
  readonly users: ReadonlyMap<string, DirectoryUser>;
  readonly ambiguous: readonly UserId[];
}

/**
 * Who is who and who may do what, from the user lists of the upstream. A subject is found by the e-mail its issuer has verified, and
 * by nothing else: without one it is nobody.
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
    const isFound = (lists: readonly AppUsers[]) => {
      const user = userIn(lists);
      return user !== undefined && (wanted === undefined || user.grants.some(({ workspaceId }) => workspaceId === wanted)); // prettier-ignore
    };
    return userIn(await this.lists.find(isFound));
  }

  /** Made once for lists that were read once. */
  private indexOf(lists: readonly AppUsers[]): Index {
    const known = this.indexes.get(lists);
    if (known) return known;
    const index = indexUsers(lists);
    this.indexes.set(lists, index);
    this.warnOf(index.ambiguous);
    return index;
  }

  /** Once for each change: the lists are read every few seconds. */
  private warnOf(userIds: readonly UserId[]): void {
    const text = userIds.join();
    if (text !== '' && text !== this.lastWarned) {
      const message = 'The upstream lists one e-mail with several user ids, or one id with several e-mails: these users are nobody here until it lists each once.'; // prettier-ignore
      this.warn({ userIds }, message);
    }
    this.lastWarned = text;
  }
}

/** Everybody whom the lists name without contradiction: an e-mail has one id in all apps, and an id one e-mail. */
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
    else for (const [id, held] of byId) users.set(email, { id, grants: withoutDoubt(held) });
  }
  return { users, ambiguous: [...ambiguous].sort((one, other) => one - other) };
}

/** A role whose word we do not know gives nothing. */
function grantsOf(user: AppUsers['users'][number], appId: AppUsers['app']['id']): Grant[] {
  return rolesOf(user)
    .filter(({ role }) => isRoleName(role))
    .map(({ role, edges }) => ({ workspaceId: edges.workspace.id, role: role as RoleName, appId }));
}

/** Of two roles in one workspace the lesser counts. */
function withoutDoubt(grants: readonly Grant[]): readonly Grant[] {
  const isMember = (workspaceId: WorkspaceId) =>
    grants.some((grant) => grant.workspaceId === workspaceId && grant.role === 'member');
  return grants.filter(({ workspaceId, role }) => role === 'member' || !isMember(workspaceId));
}

const isRoleName = (role: string): role is RoleName => role === 'member' || role === 'admin';
