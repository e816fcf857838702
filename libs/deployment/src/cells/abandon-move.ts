import { endMove, recordStep } from './move-record.js';
import { unpublish, unsubscribe } from './move-replication.js';
import type { MoveCells, MoveSessions } from './move-settings.js';
import { removeRows } from './remove-rows.js';
import { leaveTarget } from './take-over.js';

/** The source is open. Removes what the move has made, and its record. May be repeated. */
export async function abandonSteps(
  sessions: MoveSessions,
  cells: MoveCells,
  log: (line: string) => void = () => undefined,
): Promise<void> {
  const { home, source, target } = sessions;
  const { workspaceId } = cells;
  await recordStep(home, workspaceId, 'abandon');
  await unsubscribe(target, cells);
  await unpublish(source, cells);
  const removed = await removeRows(target, workspaceId);
  await leaveTarget(target, workspaceId);
  await endMove(home, workspaceId);
  log(
    `Removed ${removed} rows from the cell ${cells.target}. The cell ${cells.source} serves workspace ${workspaceId}.`,
  );
}
