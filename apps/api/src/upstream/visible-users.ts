import type { Role, User, UserId, WorkspaceId } from '@banking/domain';

/**
 * What a user holds in the app. One who has not finished signing up has nothing yet, whatever was granted in advance; and what another
 * status means, such as one for users who are blocked, is not ours to guess.
 */
export function rolesOf({ status = 'completed', edges }: User): readonly Role[] {
  return status === 'completed' ? (edges.roles ?? []) : [];
}

/**
 * What one user may see of the users of an app; the rule of our own books, for a list that was read with a credential that sees all:
 * an admin of any workspace of the app sees every user with all roles, anyone else themselves and the users they share a workspace
 * with, with the shared roles only. A role that is neither admin nor member lets its holder see nothing.
 *
 * @returns nothing at all for somebody who does not belong to the app
 */
export function visibleUsers(users: readonly User[], actor: UserId): readonly User[] {
  const self = users.find(({ id }) => id === actor);
  if (self === undefined) return [];
  const held = rolesOf(self).filter(({ role }) => role === 'admin' || role === 'member');
  const isAdmin = held.some(({ role }) => role === 'admin');
  const shared = new Set<WorkspaceId>(held.map(({ edges }) => edges.workspace.id));
  return users.flatMap((user) => {
    const roles = rolesOf(user).filter(({ edges }) => isAdmin || shared.has(edges.workspace.id));
    if (isAdmin || user.id === actor) return [{ ...user, edges: { ...user.edges, roles } }];
    return roles.length > 0 ? [shown(user, roles)] : [];
  });
}

/** Of somebody else a member sees what the interface names: what more an upstream tells, it told our credential, which is an admin. */
function shown({ id, email, status, userType, createdAt }: User, roles: readonly Role[]): User {
  return {
    id,
    email,
    ...(status !== undefined && { status }),
    ...(userType !== undefined && { userType }),
    ...(createdAt !== undefined && { createdAt }),
    edges: { roles },
  };
}
