import { Refusal, type AppId, type User, type UserId } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** The actor's roles in the app, no row for an actor outside of it. Only a user whose status is `completed` has roles. */
const RIGHTS_IN_APP = sqlStatement<{ isAdmin: boolean; workspaces: string | null }>(
  'rights_in_app',
  `select coalesce(bool_or(mine.role = 'admin'), false) as "isAdmin",
          '{' || string_agg(mine.workspace_id::text, ',' order by mine.workspace_id) || '}' as workspaces
   from app_membership m
   join app_user actor on actor.id = m.user_id
   left join (workspace_role mine join workspace v on v.id = mine.workspace_id and v.app_id = $1)
     on mine.user_id = actor.id and actor.status = 'completed'
   where m.app_id = $1 and m.user_id = $2
   group by m.user_id`,
);

/** The workspaces whose roles are shown: those given, otherwise all of the app. They are so different in size that each list is planned. */
const SCOPE_APP = sqlStatement(
  'scope_app',
  `select set_config('app.workspaces', coalesce($2, (select '{' || string_agg(w.id::text, ',') || '}' from workspace w where w.app_id = $1)), true),
          set_config('plan_cache_mode', 'force_custom_plan', true)`,
);

const usersFrom = (source: string) =>
  `select json_strip_nulls(json_build_object('id', u.id, 'email', u.email, 'status', u.status, 'userType', u.user_type,
            'createdAt', rfc3339(u.created_at),
            'edges', json_build_object('roles', coalesce(seen.roles, '[]')))) as "user"
   from ${source}
   order by u.id`;

const ROLES_SEEN = `(
     select r.user_id, json_agg(json_build_object('id', r.id, 'role', r.role,
              'createdAt', rfc3339(r.created_at), 'updatedAt', rfc3339(r.updated_at),
              'edges', json_build_object('workspace', json_build_object('id', w.id, 'name', w.name, 'type', w.type,
                'createdAt', rfc3339(w.created_at), 'updatedAt', rfc3339(w.updated_at)))) order by r.workspace_id) as roles
     from workspace_role r join workspace w on w.id = r.workspace_id
     where w.app_id = $1
       and r.workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[])
     group by r.user_id
   ) seen`;

const LIST_APP_USERS = sqlStatement<{ user: User }>(
  'list_app_users',
  usersFrom(`app_membership m
   join app_user u on u.id = m.user_id and m.app_id = $1
   left join ${ROLES_SEEN} on seen.user_id = u.id and u.status = 'completed'`),
);

const LIST_USERS_OF_WORKSPACES = sqlStatement<{ user: User }>(
  'list_users_of_workspaces',
  usersFrom(`${ROLES_SEEN}
   join app_user u on u.id = seen.user_id and u.status = 'completed'
   join app_membership m on m.user_id = u.id and m.app_id = $1`),
);

const READ_USER_ALONE = sqlStatement<{ user: User }>(
  'read_user_alone',
  usersFrom('(select null::json as roles) seen join app_user u on u.id = $1'),
);

/** Reads the users of apps. Callers who see the same share a read that is under way. */
export class AppUsers {
  /** By app and visibility. */
  private readonly underWay = new Map<string, Promise<readonly User[]>>();

  constructor(private readonly database: Database) {}

  /** @throws Refusal `app_not_found` also for an app the actor does not belong to */
  async list(actor: UserId, appId: AppId): Promise<readonly User[]> {
    const rights = await this.database.read({ user: actor }, bind(RIGHTS_IN_APP, appId, actor));
    if (rights === undefined) throw new Refusal('app_not_found');
    if (rights.isAdmin) return this.share(appId, undefined);
    if (rights.workspaces !== null) return this.share(appId, rights.workspaces);
    const [alone] = await this.database.pipeline({}, [bind(READ_USER_ALONE, actor)]);
    return alone.map(({ user }) => user);
  }

  /** @param workspaces as an array of PostgreSQL, in order; without it, the whole app is read */
  private share(appId: AppId, workspaces: string | undefined): Promise<readonly User[]> {
    const key = `${appId} ${workspaces ?? 'all'}`;
    const shared = this.underWay.get(key) ?? this.read(appId, workspaces).finally(() => this.underWay.delete(key));
    this.underWay.set(key, shared);
    return shared;
  }

  private async read(appId: AppId, workspaces: string | undefined): Promise<readonly User[]> {
    const list = workspaces === undefined ? LIST_APP_USERS : LIST_USERS_OF_WORKSPACES;
    const [, rows] = await this.database.pipeline({}, [bind(SCOPE_APP, appId, workspaces), bind(list, appId)] as const);
    return rows.map(({ user }) => user);
  }
}
