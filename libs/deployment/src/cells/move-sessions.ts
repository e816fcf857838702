import { Refusal } from '@banking/domain';
import { type AdminSession, withAdminSession } from '@banking/postgres';
import { HOME_CELL } from '@banking/process';
import { DeploymentError } from '../deployment-error.js';
import { lockMove } from './move-record.js';
import type { CellAccess, MoveCells, MoveSessions } from './move-settings.js';

/** @throws DeploymentError naming the cell that does not answer */
export async function withCell<T>(
  access: CellAccess,
  cell: string,
  work: (session: AdminSession) => Promise<T>,
): Promise<T> {
  let isConnected = false;
  try {
    return await withAdminSession(access.connectionOf(cell), (session) => {
      isConnected = true;
      return work(session);
    });
  } catch (error) {
    if (isConnected || !(error instanceof Refusal) || error.reason !== 'unavailable') throw error;
    throw new DeploymentError(`The cell "${cell}" does not answer. Run the command again when it does: it continues.`, {
      cause: error,
    });
  }
}

/** Home, with the lock of the workspace until the end of the work. */
export function withHome<T>(
  access: CellAccess,
  workspaceId: number,
  work: (home: AdminSession) => Promise<T>,
): Promise<T> {
  return withCell(access, HOME_CELL, async (home) => {
    await lockMove(home, workspaceId);
    return work(home);
  });
}

/** Both cells of a move. Home may be one of them, with a session of its own. */
export function withCells<T>(
  access: CellAccess,
  home: AdminSession,
  { source, target }: MoveCells,
  work: (sessions: MoveSessions) => Promise<T>,
): Promise<T> {
  return withCell(access, source, (atSource) =>
    withCell(access, target, (atTarget) => work({ home, source: atSource, target: atTarget })),
  );
}
