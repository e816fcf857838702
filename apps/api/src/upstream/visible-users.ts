import type { Role, User, UserId, WorkspaceId } from '@banking/domain';

/** A user as an upstream may list one: only its own deployments promise the lists inside. */
export type ListedUser = Omit<User, 'edges'> & { readonly edges?: User['edges'] };

/** What a user holds in the app. One who has not finished signing up has nothing yet, whatever was granted in advance. */
export function rolesOf({ status, edges }: ListedUser): readonly Role[] {
  return status === 'pending' ? [] : (edges?.roles ?? []);
}

/**
 * What one user may see of the users of an app; the rule of our own books, for a list that was read with a credential that sees all:
 * an admin of any workspace of the app sees every user with all roles, anyone else themselves and the users they share a workspace
 * with, with the shared roles only. A role that is neither admin nor member lets its holder see nothing.
 *
 * @returns nothing at all for somebody who does not belong to the app
 */
export function visibleUsers(users: readonly ListedUser[], actor: UserId): readonly User[] {
  const self = users.find(({ id }) => id === actor);
  if (self === undefined) return [];
  const held = rolesOf(self).filter(({ role }) => role === 'admin' || role === 'member');
  const isAdmin = held.some(({ role }) => role === 'admin');
  const shared = new Set<WorkspaceId>(held.map(({ edges }) => edges.workspace.id));
  const seen = users.map((user) => {
    const roles = rolesOf(user).filter(({ edges }) => isAdmin || shared.has(edges.workspace.id));
    return { ...user, edges: { ...user.edges, roles } };
  });
  return seen.filter(({ id, edges }) => isAdmin || id === actor || edges.roles.length > 0);
}
