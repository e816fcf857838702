import { bind, sqlStatement, type Database } from '@banking/postgres';
import { type Actor, actAs, provisioned, ProvisioningError } from './trail.js';

export interface WorkspaceRow {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly app: string;
  /** The name of the cell, where the deployment has several databases. */
  readonly cell?: string;
  readonly createdAt: string;
}

/** Without cells there is no place. */
const ADD_WORKSPACE = sqlStatement<{ id: bigint }>(
  'add_workspace',
  `with added as (
     insert into workspace (app_id, name, type) select id, $2, $3 from app where name = $1 returning id
   ), placed as (
     insert into workspace_place (workspace_id, cell_number)
     select a.id, c.number from added a join cell c on c.name = $4
   )
   select id from added`,
);
const READ_CELLS = sqlStatement<{ name: string; number: number; workspaces: number; created_at: string }>(
  'list_cells',
  `select c.name, c.number, rfc3339(c.created_at) as created_at,
          (select count(*)::int from workspace_place p where p.cell_number = c.number) as workspaces
   from cell c order by c.number`,
);
/** The place of a workspace at home. A place in another cell prevents the removal. */
const REMOVE_PLACE = sqlStatement(
  'remove_place_at_home',
  `with removed as (delete from workspace_place where workspace_id = $1 and cell_number = 0 returning workspace_id)
   delete from cell_workspace c using removed r where c.workspace_id = r.workspace_id`,
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
  `select json_strip_nulls(json_build_object('id', w.id, 'name', w.name, 'type', w.type, 'app', a.name, 'cell', c.name,
            'createdAt', rfc3339(w.created_at))) as workspace
   from workspace w join app a on a.id = w.app_id
   left join workspace_place p on p.workspace_id = w.id left join cell c on c.number = p.cell_number
   order by w.id`,
);

const CELL_HERE = sqlStatement<{ name: string }>('cell_here', 'select name from cell_identity');

/** The workspaces that are in this database: without cells, all. */
export async function workspacesHere(database: Database): Promise<readonly WorkspaceRow[]> {
  const here = await database.read({}, bind(CELL_HERE));
  const workspaces = await allWorkspaces(database);
  return here === undefined ? workspaces : workspaces.filter(({ cell }) => cell === here.name);
}

interface NewWorkspace {
  readonly app: string;
  readonly name: string;
  readonly type?: 'personal' | 'business' | undefined;
  /** The name of the cell, where the deployment has several databases. Default: home. */
  readonly cell?: string | undefined;
}

/** @throws ProvisioningError if the app is unknown or has a workspace of that name, or the cell is unknown */
export async function addWorkspace(
  database: Database,
  actor: Actor,
  { app, name, type = 'business', cell = 'home' }: NewWorkspace,
): Promise<number> {
  if (cell !== 'home' && !(await allCells(database)).some((known) => known.name === cell)) {
    throw new ProvisioningError(`There is no cell named ${cell}. See banking cell list.`);
  }
  const adding = database.write({}, [actAs(actor), bind(ADD_WORKSPACE, app, name, type, cell)] as const);
  const [, [workspace]] = await provisioned(adding, { taken: `The app ${app} has a workspace named ${name} already.` });
  if (!workspace) throw new ProvisioningError(`There is no app named ${app}. See banking app list.`);
  return Number(workspace.id);
}

export async function allWorkspaces(database: Database): Promise<readonly WorkspaceRow[]> {
  const [rows] = await database.pipeline({}, [bind(ALL_WORKSPACES)] as const);
  return rows.map(({ workspace }) => workspace);
}

export interface CellRow {
  readonly name: string;
  readonly number: number;
  readonly workspaces: number;
  readonly createdAt: string;
}

/** The cells of the deployment, home first; none where it has one database. */
export async function allCells(database: Database): Promise<readonly CellRow[]> {
  const [rows] = await database.pipeline({}, [bind(READ_CELLS)] as const);
  return rows.map(({ created_at: createdAt, ...row }) => ({ ...row, createdAt }));
}

/** @throws ProvisioningError if the workspace does not exist, or if it has roles, recipients or accounts */
export async function removeWorkspace(database: Database, actor: Actor, workspaceId: number): Promise<void> {
  const scope = { workspaces: [workspaceId] };
  const [, , removed] = await provisioned(
    database.write(scope, [
      actAs(actor),
      bind(REMOVE_PLACE, workspaceId),
      bind(REMOVE_WORKSPACE, workspaceId),
    ] as const),
    {
      inUse: `Workspace ${workspaceId} still has roles, recipients or accounts, or is in another cell. Roles can be removed; the rest is kept for ever.`,
    },
  );
  if (removed.length === 0) {
    throw new ProvisioningError(`There is no workspace ${workspaceId}. See banking workspace list.`);
  }
}

/** @throws ProvisioningError if the workspace does not exist, or if its app has another one of the new name */
export async function renameWorkspace(
  database: Database,
  actor: Actor,
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
