import type { RoleName } from '@banking/domain';
import { bind, scopesOf, sqlStatement, type Database } from '@banking/postgres';
import { type Actor, actAs, emailOf, ProvisioningError } from './trail.js';
import { allWorkspaces } from './workspaces.js';

export interface GrantRow {
  readonly id: number;
  readonly email: string;
  readonly role: RoleName;
  readonly workspaceId: number;
  readonly workspace: string;
  readonly createdAt: string;
}

/** A second grant in the same workspace replaces the role. */
const ADD_GRANT = sqlStatement<{ id: bigint }>(
  'add_grant',
  `insert into workspace_role (workspace_id, user_id, role)
   select w.id, u.id, $3
   from workspace w
   join app_membership m on m.app_id = w.app_id
   join app_user u on u.id = m.user_id
   where w.id = $1 and u.email = $2
   on conflict (workspace_id, user_id) do update set role = excluded.role, updated_at = now()
   returning id`,
);
const REMOVE_GRANT = sqlStatement<{ id: bigint }>(
  'remove_grant',
  `delete from workspace_role r using app_user u
   where r.workspace_id = $1 and u.id = r.user_id and u.email = $2 returning r.id`,
);
const ALL_GRANTS = sqlStatement<{ grant: GrantRow }>(
  'all_grants',
  `select json_build_object('id', r.id, 'email', u.email, 'role', r.role, 'workspaceId', w.id, 'workspace', w.name,
            'createdAt', rfc3339(r.created_at)) as grant
   from workspace_role r join app_user u on u.id = r.user_id join workspace w on w.id = r.workspace_id
   order by w.id, r.id`,
);

/** @throws ProvisioningError if the workspace does not exist, or the user does not belong to its app */
export async function addGrant(
  database: Database,
  actor: Actor,
  { workspaceId, email, role }: { workspaceId: number; email: string; role: RoleName },
): Promise<number> {
  const scope = { workspaces: [workspaceId] };
  const [, [grant]] = await database.write(scope, [
    actAs(actor),
    bind(ADD_GRANT, workspaceId, emailOf(email), role),
  ] as const);
  if (!grant) {
    throw new ProvisioningError(
      `There is no workspace ${workspaceId}, or ${email} is not a user of its app. See banking workspace list and banking user list.`,
    );
  }
  return Number(grant.id);
}

export async function allGrants(database: Database): Promise<readonly GrantRow[]> {
  const workspaces = (await allWorkspaces(database)).map(({ id }) => id).sort((left, right) => left - right);
  const grants: GrantRow[] = [];
  for (const ids of scopesOf(workspaces)) {
    const [rows] = await database.pipeline({ workspaces: ids }, [bind(ALL_GRANTS)] as const);
    grants.push(...rows.map(({ grant }) => grant));
  }
  return grants;
}

export async function removeGrant(
  database: Database,
  actor: Actor,
  { workspaceId, email }: { workspaceId: number; email: string },
): Promise<void> {
  const scope = { workspaces: [workspaceId] };
  const [, removed] = await database.write(scope, [
    actAs(actor),
    bind(REMOVE_GRANT, workspaceId, emailOf(email)),
  ] as const);
  if (removed.length === 0) {
    throw new ProvisioningError(`${email} has no role in workspace ${workspaceId}. See banking grant list.`);
  }
}
