import type { Role, User, UserId, WorkspaceId } from '@banking/domain';

/**
 * The roles of a user in the app. A user who has not completed sign-up has none yet, whatever was granted in advance. A user with an
 * unknown status, such as one for blocked users, has none either.
 */
export function rolesOf({ status = 'completed', edges }: User): readonly Role[] {
  return status === 'completed' ? (edges.roles ?? []) : [];
}

/**
 * The users of an app that one user may see: the rule of our own books, for a list that was read with a credential that sees all users.
 * An admin of any workspace of the app sees every user with all roles. A member sees themselves and the users of shared workspaces,
 * with the shared roles only. A role that is neither admin nor member shows no users.
 *
 * @returns an empty list for a user who does not belong to the app
 */
export function visibleUsers(users: readonly User[], actor: UserId): readonly User[] {
  const self = users.find(({ id }) => id === actor);
  if (self === undefined) return [];
  const ownRoles = rolesOf(self).filter(({ role }) => role === 'admin' || role === 'member');
  const isAdmin = ownRoles.some(({ role }) => role === 'admin');
  const shared = new Set<WorkspaceId>(ownRoles.map(({ edges }) => edges.workspace.id));
  return users.flatMap((user) => {
    const roles = rolesOf(user).filter(({ edges }) => isAdmin || shared.has(edges.workspace.id));
    if (isAdmin || user.id === actor) return [{ ...user, edges: { ...user.edges, roles } }];
    return roles.length > 0 ? [publishedFields(user, roles)] : [];
  });
}

/** The fields that the interface names. An upstream may send others, which it shows our credential as an admin's. */
function publishedFields({ id, email, status, userType, createdAt }: User, roles: readonly Role[]): User {
  return {
    id,
    email,
    ...(status !== undefined && { status }),
    ...(userType !== undefined && { userType }),
    ...(createdAt !== undefined && { createdAt }),
    edges: { roles },
  };
}
