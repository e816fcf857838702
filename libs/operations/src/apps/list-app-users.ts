import { Refusal, type AppId, type User, type UserId } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** The actor's roles in the app. Only a user whose status is `completed` has any. */
const actorRoles = `
  select mine.workspace_id, mine.role
  from workspace_role mine
  join workspace v on v.id = mine.workspace_id
  join app_user actor on actor.id = mine.user_id
  where v.app_id = $1 and actor.id = $2 and actor.status = 'completed'`;

/** The workspaces whose roles the actor may see: all for an admin of one of them, otherwise those that the actor has a role in. */
const SCOPE_APP = sqlStatement(
  'scope_app',
  `select set_config('app.workspaces', coalesce('{' || string_agg(w.id::text, ',') || '}', '{}'), true) as workspaces
   from workspace w
   where w.app_id = $1
     and exists (select from (${actorRoles}) own where own.role = 'admin' or own.workspace_id = w.id)`,
);

const LIST_APP_USERS = sqlStatement<{ user: User }>(
  'list_app_users',
  `select json_strip_nulls(json_build_object('id', u.id, 'email', u.email, 'status', u.status, 'userType', u.user_type,
            'createdAt', rfc3339(u.created_at),
            'edges', json_build_object('roles', coalesce(seen.roles, '[]')))) as "user"
   from app_membership m
   join app_user u on u.id = m.user_id
   left join lateral (
     select json_agg(json_build_object('id', r.id, 'role', r.role,
              'createdAt', rfc3339(r.created_at), 'updatedAt', rfc3339(r.updated_at),
              'edges', json_build_object('workspace', json_build_object('id', w.id, 'name', w.name, 'type', w.type,
                'createdAt', rfc3339(w.created_at), 'updatedAt', rfc3339(w.updated_at)))) order by r.workspace_id) as roles
     from workspace_role r join workspace w on w.id = r.workspace_id
     where r.user_id = u.id and u.status = 'completed' and w.app_id = $1
       and r.workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
   ) seen on true
   where m.app_id = $1
     and exists (select from app_membership mine where mine.app_id = $1 and mine.user_id = $2)
     and (u.id = $2 or seen.roles is not null or exists (select from (${actorRoles}) own where own.role = 'admin'))
   order by u.id`,
);

/** @throws Refusal `app_not_found` also for an app the actor does not belong to */
export async function listAppUsers(database: Database, actor: UserId, appId: AppId): Promise<readonly User[]> {
  const [, rows] = await database.pipeline({ user: actor }, [
    bind(SCOPE_APP, appId, actor),
    bind(LIST_APP_USERS, appId, actor),
  ] as const);
  if (rows.length === 0) throw new Refusal('app_not_found');
  return rows.map(({ user }) => user);
}
