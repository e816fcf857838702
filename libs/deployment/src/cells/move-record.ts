import type { AdminSession, ConnectionOptions } from '@banking/postgres';
import { DeploymentError } from '../explain-failure.js';
import { asOwner } from './act-as.js';

/** The record of a move, at home. */
export interface Move extends MoveCells {
  readonly step: Step;
}

/** Below the keys of scopes; see `workspace_lock_key`. */
const LOCK_BASE = -6_917_529_027_641_081_856n;
/** Below these. */
const CELL_LOCK_BASE = -8_070_450_532_247_928_832n;

const READ = `
  select m.step, s.name as source, t.name as target
  from workspace_move m join cell s on s.number = m.source_number join cell t on t.number = m.target_number
  where m.workspace_id = $1`;

/**
 * Lets one command at a time work on a workspace. The lock is of the session, so a command that is killed leaves none.
 *
 * @throws DeploymentError while another command has it
 */
export async function lockMove(home: AdminSession, workspaceId: number): Promise<void> {
  const [row] = await home.query<{ isLocked: boolean }>('select pg_try_advisory_lock($1) as "isLocked"', [
    LOCK_BASE + BigInt(workspaceId),
  ]);
  if (row?.isLocked === true) return;
  throw new DeploymentError(
    `Another command moves or archives workspace ${workspaceId} at the moment. Wait for its end, or stop it.`,
  );
}

/**
 * The lock of the command that works on a workspace in this cell. The session of another command that has it is ended.
 *
 * @returns false if another command had it, whose session may take a moment to end
 */
export async function lockCell(session: AdminSession, workspaceId: number): Promise<boolean> {
  const key = CELL_LOCK_BASE + BigInt(workspaceId);
  const [row] = await session.query<{ isLocked: boolean }>('select pg_try_advisory_lock($1) as "isLocked"', [key]);
  if (row?.isLocked === true) return true;
  await session.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
     where l.locktype = 'advisory' and l.objsubid = 1 and (l.classid::bigint << 32 | l.objid::bigint) = $1`,
    [key],
  );
  return false;
}

export async function readMove(home: AdminSession, workspaceId: number): Promise<Move | undefined> {
  const [row] = await asOwner(home, () =>
    home.query<{ step: Step; source: string; target: string }>(READ, [workspaceId]),
  );
  return row && { workspaceId, ...row };
}

/** The name of the cell that serves the workspace, by home. @throws DeploymentError for an unknown workspace */
export async function placeOf(home: AdminSession, workspaceId: number): Promise<string> {
  const [row] = await asOwner(home, () =>
    home.query<{ name: string }>(
      'select c.name from workspace_place p join cell c on c.number = p.cell_number where p.workspace_id = $1',
      [workspaceId],
    ),
  );
  if (row === undefined) throw new DeploymentError(`There is no workspace ${workspaceId}. See banking workspace list.`);
  return row.name;
}

/** Records a new move, in place of a former one that is done. */
export async function beginMove(home: AdminSession, cells: MoveCells, operatingSystemUser: string): Promise<void> {
  const { workspaceId, source, target } = cells;
  await asOwner(home, async () => {
    await home.query(`delete from workspace_move where workspace_id = $1 and step = 'done'`, [workspaceId]);
    await home.query(
      `insert into workspace_move (workspace_id, source_number, target_number, operator)
       select $1, s.number, t.number, left(format('%s (%s)', session_user, $4::text), 200) from cell s, cell t where s.name = $2 and t.name = $3`,
      [workspaceId, source, target, operatingSystemUser],
    );
  });
}

/** Records the step that is being done. Nothing leads back from `switched`. @throws Error if the move is recorded no more */
export async function recordStep(home: AdminSession, workspaceId: number, step: Step): Promise<void> {
  const changed = await asOwner(home, () =>
    home.query(
      `update workspace_move set step = $2, step_at = statement_timestamp()
       where workspace_id = $1 and (step not in ('switched', 'done') or $2 = 'done') returning workspace_id`,
      [workspaceId, step],
    ),
  );
  if (changed.length === 0) throw new Error(`the move of workspace ${workspaceId} is not recorded`);
}

/** The one change by which the workspace is in the other cell. A move that is abandoned meanwhile is not switched. */
export async function switchPlace(home: AdminSession, workspaceId: number): Promise<void> {
  await asOwner(home, async () => {
    const switched = await home.query(
      `with switched as (
         update workspace_move set step = 'switched', step_at = statement_timestamp()
         where workspace_id = $1 and step = 'close' returning workspace_id, source_number, target_number)
       update workspace_place p set cell_number = s.target_number, moved_at = statement_timestamp() from switched s
       where p.workspace_id = s.workspace_id and p.cell_number = s.source_number returning p.workspace_id`,
      [workspaceId],
    );
    if (switched.length === 0) throw new Error(`the move of workspace ${workspaceId} is not at its switch`);
  });
}

/** The one change by which the workspace is in its former cell again. From then on the move is one that is abandoned. */
export async function switchBack(home: AdminSession, workspaceId: number): Promise<void> {
  await asOwner(home, async () => {
    const switched = await home.query(
      `with switched as (
         update workspace_move set step = 'abandon', step_at = statement_timestamp()
         where workspace_id = $1 and step in ('switched', 'done') returning workspace_id, source_number, target_number)
       update workspace_place p set cell_number = s.source_number, moved_at = statement_timestamp() from switched s
       where p.workspace_id = s.workspace_id and p.cell_number = s.target_number returning p.workspace_id`,
      [workspaceId],
    );
    if (switched.length === 0) throw new Error(`workspace ${workspaceId} is not where its last move has led`);
  });
}

export async function endMove(home: AdminSession, workspaceId: number): Promise<void> {
  await asOwner(home, () => home.query('delete from workspace_move where workspace_id = $1', [workspaceId]));
}

/** How an operator reaches the databases of the deployment. */
export interface CellAccess {
  /** Of a login that may migrate, publish, subscribe and switch off triggers. @throws ConfigError for a cell that is not configured */
  connectionOf(cell: string): ConnectionOptions;
  /** How the server of one cell reaches another cell, as libpq reads it. It may hold a password. */
  addressOf(cell: string, from: string): string;
}

export interface MoveSettings extends CellAccess {
  readonly workspaceId: number;
  /** The account of the operator at the operating system, for the record of the move beside the login. */
  readonly operatingSystemUser: string;
  readonly log?: ((line: string) => void) | undefined;
  /** Stops the command before its next step, never while the workspace is closed. */
  readonly signal?: AbortSignal | undefined;
}

/** The steps of a move, in their order. Each is recorded at home before it begins. */
export type Step = 'prepare' | 'follow' | 'close' | 'switched' | 'done' | 'abandon';

/** Connections of one run of a command. */
export interface MoveSessions {
  readonly home: AdminSession;
  readonly source: AdminSession;
  readonly target: AdminSession;
}

/** The two cells of a move. */
export interface MoveCells {
  readonly workspaceId: number;
  readonly source: string;
  readonly target: string;
}
