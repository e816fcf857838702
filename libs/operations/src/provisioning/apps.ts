import { bind, sqlStatement, type Database } from '@banking/postgres';
import { type Actor, actAs, provisioned, ProvisioningError } from './trail.js';

export interface AppRow {
  readonly id: number;
  readonly name: string;
  readonly users: number;
  readonly workspaces: number;
  readonly createdAt: string;
}

const ADD_APP = sqlStatement<{ id: bigint }>('add_app', 'insert into app (name) values ($1) returning id');
const REMOVE_APP = sqlStatement<{ id: bigint }>('remove_app', 'delete from app where name = $1 returning id');
const RENAME_APP = sqlStatement<{ id: bigint }>(
  'rename_app',
  'update app set name = $2, updated_at = now() where name = $1 returning id',
);
const ALL_APPS = sqlStatement<{ app: AppRow }>(
  'all_apps',
  `select json_build_object('id', a.id, 'name', a.name,
            'users', (select count(*) from app_membership m where m.app_id = a.id),
            'workspaces', (select count(*) from workspace w where w.app_id = a.id),
            'createdAt', rfc3339(a.created_at)) as app
   from app a order by a.id`,
);

/** @throws ProvisioningError if an app has the name */
export async function addApp(database: Database, actor: Actor, name: string): Promise<number> {
  const adding = database.write({}, [actAs(actor), bind(ADD_APP, name)] as const);
  const [, [app]] = await provisioned(adding, { taken: `There is an app named ${name} already.` });
  return Number(app!.id);
}

export async function allApps(database: Database): Promise<readonly AppRow[]> {
  const [rows] = await database.pipeline({}, [bind(ALL_APPS)] as const);
  return rows.map(({ app }) => app);
}

/** @throws ProvisioningError if the app does not exist, or if it has users or workspaces */
export async function removeApp(database: Database, actor: Actor, name: string): Promise<void> {
  const removing = database.write({}, [actAs(actor), bind(REMOVE_APP, name)] as const);
  const [, removed] = await provisioned(removing, {
    inUse: `The app ${name} still has users or workspaces. Remove those first: banking user list, banking workspace list.`,
  });
  if (removed.length === 0) throw new ProvisioningError(`There is no app named ${name}. See banking app list.`);
}

/** @throws ProvisioningError if the app does not exist, or another app has the new name */
export async function renameApp(database: Database, actor: Actor, name: string, to: string): Promise<void> {
  const renaming = database.write({}, [actAs(actor), bind(RENAME_APP, name, to)] as const);
  const [, renamed] = await provisioned(renaming, { taken: `There is an app named ${to} already.` });
  if (renamed.length === 0) throw new ProvisioningError(`There is no app named ${name}. See banking app list.`);
}
