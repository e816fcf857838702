import type { App, UserId } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';

const LIST_APPS = sqlStatement<{ apps: readonly App[] }>(
  'list_apps',
  `select coalesce(json_agg(json_build_object('id', a.id, 'name', a.name, 'createdAt', rfc3339(a.created_at)) order by a.id), '[]') as apps
   from app_membership m join app a on a.id = m.app_id
   where m.user_id = $1`,
);

/** The apps the user belongs to. */
export async function listApps(database: Database, actor: UserId): Promise<readonly App[]> {
  const row = await database.read({ user: actor }, bind(LIST_APPS, actor));
  return row?.apps ?? [];
}
