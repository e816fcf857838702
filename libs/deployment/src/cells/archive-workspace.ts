import { type AdminSession, SCHEMA } from '@banking/postgres';
import { DeploymentError } from '../deployment-error.js';
import { endMove, placeOf, readMove } from './move-record.js';
import { withCell, withHome } from './move-sessions.js';
import type { MoveSettings } from './move-settings.js';
import { untilReadsEnded } from './close-workspace.js';
import { removeRows } from './remove-rows.js';
import { leaveTarget } from './take-over.js';

/** The rows that were removed from a former cell. */
export interface ArchivedCell {
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
    const archived: ArchivedCell[] = [];
    for (const { name } of await home.query<{ name: string }>(`select name from ${SCHEMA}.cell order by number`)) {
      if (name === place) continue;
      const rows = await withCell(settings, name, (session) =>
        archiveIn(session, workspaceId, name, log, settings.signal),
      );
      if (rows !== undefined) archived.push({ cell: name, rows });
    }
    await endMove(home, workspaceId);
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

async function stateOf(session: AdminSession, workspaceId: number): Promise<string | undefined> {
  const [row] = await session.query<{ state: string }>(
    `select state from ${SCHEMA}.cell_workspace where workspace_id = $1`,
    [workspaceId],
  );
  return row?.state;
}
