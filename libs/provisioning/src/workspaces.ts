import { bind, sqlStatement, type Database } from '@banking/postgres';
import { actAs, provisioned, ProvisioningError } from './trail.js';

export interface WorkspaceRow {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly app: string;
  readonly createdAt: string;
}

const ADD_WORKSPACE = sqlStatement<{ id: bigint }>(
  'add_workspace',
  'insert into workspace (app_id, name, type) select id, $2, $3 from app where name = $1 returning id',
);
const REMOVE_WORKSPACE = sqlStatement<{ id: bigint }>(
  'remove_workspace',
  'delete from workspace where id = $1 returning id',
);
const RENAME_WORKSPACE = sqlStatement<{ id: bigint }>(
  'rename_workspace',
  'update workspace set name = $2, updated_at = now() where id = $1 returning id',
);
const ALL_WORKSPACES = sqlStatement<{ workspace: WorkspaceRow }>(
  'all_workspaces',
  `select json_build_object('id', w.id, 'name', w.name, 'type', w.type, 'app', a.name, 'createdAt', rfc3339(w.created_at)) as workspace
   from workspace w join app a on a.id = w.app_id order by w.id`,
);

/** @throws ProvisioningError if the app is unknown or has a workspace of that name */
export async function addWorkspace(
  database: Database,
  actor: string,
  { app, name, type = 'business' }: { app: string; name: string; type?: 'personal' | 'business' | undefined },
): Promise<number> {
  const adding = database.write({}, [actAs(actor), bind(ADD_WORKSPACE, app, name, type)] as const);
  const [, [workspace]] = await provisioned(adding, { taken: `The app ${app} has a workspace named ${name} already.` });
  if (!workspace) throw new ProvisioningError(`There is no app named ${app}. See banking app list.`);
  return Number(workspace.id);
}

export async function allWorkspaces(database: Database): Promise<readonly WorkspaceRow[]> {
  const [rows] = await database.pipeline({}, [bind(ALL_WORKSPACES)] as const);
  return rows.map(({ workspace }) => workspace);
}

/** @throws ProvisioningError if the workspace does not exist, or if it has roles, recipients or accounts */
export async function removeWorkspace(database: Database, actor: string, workspaceId: number): Promise<void> {
  const scope = { workspaces: [workspaceId] };
  const [, removed] = await provisioned(
    database.write(scope, [actAs(actor), bind(REMOVE_WORKSPACE, workspaceId)] as const),
    {
      inUse: `Workspace ${workspaceId} still has roles, recipients or accounts. Roles can be removed; the rest is kept for ever.`,
    },
  );
  if (removed.length === 0) {
    throw new ProvisioningError(`There is no workspace ${workspaceId}. See banking workspace list.`);
  }
}

/** @throws ProvisioningError if the workspace does not exist, or if its app has another one of the new name */
export async function renameWorkspace(
  database: Database,
  actor: string,
  workspaceId: number,
  name: string,
): Promise<void> {
  const renaming = database.write({}, [actAs(actor), bind(RENAME_WORKSPACE, workspaceId, name)] as const);
  const taken = `The app of workspace ${workspaceId} has a workspace named ${name} already.`;
  const [, renamed] = await provisioned(renaming, { taken });
  if (renamed.length === 0) {
    throw new ProvisioningError(`There is no workspace ${workspaceId}. See banking workspace list.`);
  }
}
