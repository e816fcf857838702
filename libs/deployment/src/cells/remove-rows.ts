import { type AdminSession, OWNER_ROLE, quoteName } from '@banking/postgres';
import { DeploymentError } from '../explain-failure.js';
import { asLogin, asOwner, asOwnerOf } from './act-as.js';
import { type MovedTable, ofWorkspace, qualified, tablesOfWorkspace } from './tables-of-workspace.js';
import { endMove, placeOf, readMove, type MoveSettings } from './move-record.js';
import { withCell, withHome } from './move-sessions.js';
import { untilReadsEnded } from './switch-workspace.js';
import { leaveTarget, stateOf } from './take-over.js';

/** Each batch is a database transaction of its own, so that it holds its locks for a short time. */
const BATCH = 5_000;

/** Whether the database has rows of a workspace, in a table that moves. */
export async function hasRows(session: AdminSession, workspaceId: number): Promise<boolean> {
  for (const { name, condition } of await tablesToEmpty(session)) {
    const [row] = await asOwnerOf(session, workspaceId, () =>
      session.query<{ exists: boolean }>(
        `select exists (select from ${qualified(name)} where ${condition(workspaceId)}) as exists`,
      ),
    );
    if (row?.exists === true) return true;
  }
  return false;
}

const REMOVER = `
  select quote_ident(rolname) as name, array_remove(array[
    case when not (rolsuper or rolbypassrls) then format('alter role %I bypassrls;', rolname) end,
    case when not pg_has_role($1, 'usage') then
      case when current_setting('server_version_num')::int < 160000 then format('alter role %I inherit;', rolname)
      else format('grant %I to %I with inherit true;', $1, rolname) end end,
    case when not has_parameter_privilege('session_replication_role', 'set') then
      format('grant set on parameter session_replication_role to %I;', rolname) end], null) as missing
  from pg_roles where rolname = current_user`;

/** @throws DeploymentError with the SQL for an administrator if the login of a cell may not remove rows without triggers */
export async function requireRemover(session: AdminSession, cell: string): Promise<void> {
  const [login] = await session.query<{ name: string; missing: readonly string[] }>(REMOVER, [OWNER_ROLE]);
  const { name, missing } = login!;
  if (missing.length === 0) return;
  throw new DeploymentError(
    `The login ${name} of the cell "${cell}" may not remove rows. Let an administrator run there: ${missing.join(' ')}`,
  );
}

/**
 * Removes the rows of a workspace from a database that does not serve it. Records of the books are append-only, which triggers and foreign
 * keys ensure: they are switched off for each batch, in its session alone, so the login needs that right. May be repeated.
 *
 * @returns the number of rows removed
 * @throws DeploymentError if the database serves the workspace
 */
export async function removeRows(
  session: AdminSession,
  workspaceId: number,
  onProgress: (rows: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (const table of await tablesToEmpty(session)) {
    let after: string | null = null;
    do {
      signal?.throwIfAborted();
      const batch: Batch = await removeBatch(session, workspaceId, table, after);
      removed += batch.rows;
      after = batch.rows === BATCH ? batch.last : null;
      if (batch.rows > 0) onProgress(removed);
    } while (after !== null);
  }
  return removed;
}

type EmptiedTable = Pick<MovedTable, 'name' | 'condition' | 'key' | 'keyTypes'>;

async function tablesToEmpty(session: AdminSession): Promise<readonly EmptiedTable[]> {
  const tables = await tablesOfWorkspace(session);
  return [...tables, { name: 'account_code', condition: ofWorkspace, key: ['code'], keyTypes: ['text'] }];
}

interface Batch {
  readonly rows: number;
  /** The key of the last row, as JSON. */
  readonly last: string | null;
}

/** @param after the last key of the batch before, because its rows are in the way of a search until a vacuum */
function removeBatch(
  session: AdminSession,
  workspaceId: number,
  { name, condition, key, keyTypes }: EmptiedTable,
  after: string | null,
): Promise<Batch> {
  const columns = key.map(quoteName).join(', ');
  const values = keyTypes.map((type, at) => `($1::json ->> ${at})::${type}`).join(', ');
  const backwards = key.map((column) => `${quoteName(column)} desc`).join(', ');
  return asLogin(session, async () => {
    // A login that row-level security binds would remove no row, without an error.
    await session.query('set local session_replication_role = replica; set local row_security = off');
    const [served] = await session.query<{ state: string }>(
      'select state from cell_workspace where workspace_id = $1 for update',
      [workspaceId],
    );
    if (served?.state === 'open') {
      throw new DeploymentError(`Workspace ${workspaceId} is open in this database. Its rows are not removed.`);
    }
    const [removed] = await session.query<Batch>(
      `with batch as materialized (
         select ctid as place, ${columns} from ${qualified(name)}
         where ${condition(workspaceId)} and ($1::json is null or (${columns}) > (${values})) order by ${columns} limit ${BATCH}),
       removed as (delete from ${qualified(name)} where ctid = any (array (select place from batch)))
       select (select count(*)::int from batch) as rows,
              (select json_build_array(${columns})::text from batch order by ${backwards} limit 1) as last`,
      [after],
    );
    return removed!;
  });
}

/** The rows that were removed from a former cell. */
interface ArchivedCell {
  readonly cell: string;
  readonly rows: number;
}

/**
 * Removes the rows of a workspace from the cells that it has left. May be repeated, also after an interruption.
 *
 * @returns the cells that had rows
 * @throws DeploymentError unless its last move is done and its cell serves it
 */
export async function archiveWorkspace(settings: MoveSettings): Promise<readonly ArchivedCell[]> {
  const { workspaceId, log = () => undefined } = settings;
  return withHome(settings, workspaceId, async (home) => {
    const place = await placeOf(home, workspaceId);
    const move = await readMove(home, workspaceId);
    if (move !== undefined && move.step !== 'done') {
      throw new DeploymentError(
        `The move of workspace ${workspaceId} to the cell "${move.target}" is not done. Continue or abandon it first; see banking cell list.`,
      );
    }
    await withCell(settings, place, (session) => requireOpen(session, workspaceId, place));
    // From here on, the rows of the former cell are not whole any more, and a recovery must not go back to them.
    await endMove(home, workspaceId);
    const archived: ArchivedCell[] = [];
    const cells = await asOwner(home, () => home.query<{ name: string }>('select name from cell order by number'));
    for (const { name } of cells) {
      if (name === place) continue;
      const rows = await withCell(settings, name, (session) =>
        archiveIn(session, workspaceId, name, log, settings.signal),
      );
      if (rows !== undefined) archived.push({ cell: name, rows });
    }
    return archived;
  });
}

async function requireOpen(session: AdminSession, workspaceId: number, place: string): Promise<void> {
  if ((await stateOf(session, workspaceId)) === 'open') return;
  throw new DeploymentError(`The cell "${place}" does not serve workspace ${workspaceId}. Nothing is removed.`);
}

async function archiveIn(
  session: AdminSession,
  workspaceId: number,
  cell: string,
  log: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const state = await stateOf(session, workspaceId);
  if (state === undefined) return undefined;
  if (state !== 'gone') {
    throw new DeploymentError(
      `Workspace ${workspaceId} is not marked as gone in the cell "${cell}". Nothing is removed there.`,
    );
  }
  await requireRemover(session, cell);
  let shown = 0;
  const onProgress = (removed: number) => {
    if (removed - shown < 100_000) return;
    shown = removed;
    log(`Removed ${removed} rows from the cell ${cell}.`);
  };
  await untilReadsEnded(session, signal);
  const rows = await removeRows(session, workspaceId, onProgress, signal);
  await leaveTarget(session, workspaceId);
  return rows;
}
