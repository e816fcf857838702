import { foldEmail } from '@banking/domain';
import { bind, type BoundStatement, type Database, DatabaseError, SQLSTATE, sqlStatement } from '@banking/postgres';

export interface WorkspaceRow {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly app: string;
  /** The name of the cell, where the deployment has several databases. */
  readonly cell?: string;
  /** Of the days and months of its limits. Missing for UTC. */
  readonly timeZone?: string;
  readonly createdAt: string;
}

/** Without cells there is no place. */
const ADD_WORKSPACE = sqlStatement<{ id: bigint }>(
  'add_workspace',
  `with added as (
     insert into workspace (app_id, name, type, time_zone) select id, $2, $3, $5 from app where name = $1 returning id
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

const SET_TIME_ZONE = sqlStatement<{ id: bigint }>(
  'set_time_zone',
  'update workspace set time_zone = $2, updated_at = now() where id = $1 returning id',
);

const ALL_WORKSPACES = sqlStatement<{ workspace: WorkspaceRow }>(
  'all_workspaces',
  `select json_strip_nulls(json_build_object('id', w.id, 'name', w.name, 'type', w.type, 'app', a.name, 'cell', c.name,
            'timeZone', nullif(w.time_zone, 'UTC'), 'createdAt', rfc3339(w.created_at))) as workspace
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
  /** Of the days and months of its limits: a name of the IANA database. Default UTC. */
  readonly timeZone?: string | undefined;
}

/** @throws ProvisioningError if the app is unknown or has a workspace of that name, or the cell or the time zone is unknown */
export async function addWorkspace(
  database: Database,
  actor: Actor,
  { app, name, type = 'business', cell = 'home', timeZone = 'UTC' }: NewWorkspace,
): Promise<number> {
  if (cell !== 'home' && !(await allCells(database)).some((known) => known.name === cell)) {
    throw new ProvisioningError(`There is no cell named ${cell}. See banking cell list.`);
  }
  const adding = database.write({}, [actAs(actor), bind(ADD_WORKSPACE, app, name, type, cell, timeZone)] as const);
  const [, [workspace]] = await provisioned(adding, {
    taken: `The app ${app} has a workspace named ${name} already.`,
    unknownZone: unknownZone(timeZone),
  });
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

/**
 * Sets the time zone of the days and months of limits. What is used of them is counted again, from local midnight.
 *
 * @throws ProvisioningError if the workspace does not exist or the time zone is unknown
 */
export async function setTimeZone(
  database: Database,
  actor: Actor,
  workspaceId: number,
  timeZone: string,
): Promise<void> {
  const setting = database.write({}, [actAs(actor), bind(SET_TIME_ZONE, workspaceId, timeZone)] as const);
  const [, changed] = await provisioned(setting, { unknownZone: unknownZone(timeZone) });
  if (changed.length === 0) {
    throw new ProvisioningError(`There is no workspace ${workspaceId}. See banking workspace list.`);
  }
}

const unknownZone = (timeZone: string) =>
  `The database knows no time zone ${timeZone}. Use a name of the IANA database, such as Europe/Berlin.`;

/** A request of an operator that cannot be carried out. Its message states what to change. */
export class ProvisioningError extends Error {
  override readonly name = 'ProvisioningError';
}

/** Who changes the directory besides the login of the database: the account of the operating system, or a program. */
export type Actor = string;

const ACT_AS = sqlStatement(
  'act_as',
  `select set_config('app.actor_type', 'operator', true), set_config('app.operating_system_user', $1, true)`,
);

/** Sets the actor of this database transaction, for the audit trails that triggers write. */
export const actAs = (actor: Actor): BoundStatement<unknown> => bind(ACT_AS, actor);

/** The messages for a unique violation, for a foreign key violation, and for a time zone that the database does not know. */
interface Messages {
  readonly taken?: string;
  readonly inUse?: string;
  readonly unknownZone?: string;
}

/** Replaces a constraint violation by a message for the operator. Rethrows an error without a message. */
export async function provisioned<T>(work: Promise<T>, { taken, inUse, unknownZone }: Messages): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const code = error instanceof DatabaseError ? error.code : undefined;
    const messages: Readonly<Record<string, string | undefined>> = {
      [SQLSTATE.uniqueViolation]: taken,
      [SQLSTATE.foreignKeyViolation]: inUse,
      [SQLSTATE.invalidParameterValue]: unknownZone,
      workspace_time_zone: unknownZone,
    };
    const message = messages[(error as Partial<DatabaseError>).constraint ?? ''] ?? messages[code ?? ''];
    throw message === undefined ? error : new ProvisioningError(message, { cause: error });
  }
}

/** An e-mail as it is stored. @throws ProvisioningError if it cannot name a user */
export function emailOf(text: string): string {
  const email = foldEmail(text);
  if (email === undefined) {
    throw new ProvisioningError(
      `${text} is not an e-mail address in ASCII. Write an internationalised domain as xn--….`,
    );
  }
  return email;
}

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

/** A move of a workspace between cells that is not done. */
export interface MoveRow {
  readonly workspaceId: number;
  readonly from: string;
  readonly to: string;
  readonly step: string;
  /** Since when it is at the step, RFC 3339. */
  readonly since: string;
  readonly operator: string;
}

const OPEN_MOVES = sqlStatement<{ move: MoveRow }>(
  'open_moves',
  `select json_build_object('workspaceId', m.workspace_id, 'from', s.name, 'to', t.name, 'step', m.step, 'since', rfc3339(m.step_at),
            'operator', m.operator) as move
   from workspace_move m join cell s on s.number = m.source_number join cell t on t.number = m.target_number
   where m.step <> 'done' order by m.workspace_id`,
);

/** The moves that run or were interrupted, by home. */
export async function openMoves(database: Database): Promise<readonly MoveRow[]> {
  const [rows] = await database.pipeline({}, [bind(OPEN_MOVES)] as const);
  return rows.map(({ move }) => move);
}
