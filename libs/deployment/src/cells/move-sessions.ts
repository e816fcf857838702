import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, sqlstateOf, withAdminSession, isUnavailable } from '@banking/postgres';
import { HOME_CELL } from '@banking/process';
import { DeploymentError } from '../explain-failure.js';
import { lockCell, lockMove, type CellAccess, type MoveCells, type MoveSessions } from './move-record.js';

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
    if (isConnected || !isUnavailable(error)) throw error;
    throw new DeploymentError(`The cell "${cell}" does not answer. Run the command again when it does: it continues.`, {
      cause: error,
    });
  }
}

/** Leaves work out if its cell does not answer. */
export function unlessAway(work: () => Promise<void>): Promise<void> {
  return work().catch((error: unknown) => {
    if (!(error instanceof DeploymentError && isUnavailable(error.cause))) throw error;
  });
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
  }).catch((error: unknown) => {
    throw isLostConnection(error) ? interrupted(error) : error;
  });
}

/** An error of the connection itself has no SQLSTATE. */
function isLostConnection(error: unknown): error is Error {
  const code = sqlstateOf(error);
  if (code !== undefined) return LOST.some((start) => code.startsWith(start));
  return error instanceof Error && /^Connection terminated|not queryable|^read E|^write E/.test(error.message);
}

/** The server ends, or the connection has failed. */
const LOST = ['57P', '08'];

const interrupted = (cause: Error) =>
  new DeploymentError(
    'The connection to a cell was lost. Run the command again when all cells answer: it continues. Until then callers of the workspace get ' +
      '503 if banking cell list shows it at the step close.',
    { cause },
  );

const ENDED_POLL_MS = 50;
const ENDED_POLLS = 200;

/**
 * A cell in which the command changes something of the workspace. The command has the lock at home. Another one that works there has lost
 * that lock, and its sessions are ended: otherwise it could close a workspace that this command has opened.
 */
export function withCellOf<T>(
  access: CellAccess,
  cell: string,
  workspaceId: number,
  work: (session: AdminSession) => Promise<T>,
): Promise<T> {
  return withCell(access, cell, async (session) => {
    for (let poll = 0; !(await lockCell(session, workspaceId)); poll += 1) {
      if (poll === ENDED_POLLS) {
        throw new DeploymentError(
          `An earlier command still works on workspace ${workspaceId} in the cell "${cell}", and its session does not end. Run the command again.`,
        );
      }
      await pause(ENDED_POLL_MS);
    }
    return work(session);
  });
}

/** Both cells of a move. Home may be one of them, with a session of its own. */
export function withCells<T>(
  access: CellAccess,
  home: AdminSession,
  { workspaceId, source, target }: MoveCells,
  work: (sessions: MoveSessions) => Promise<T>,
): Promise<T> {
  return withCellOf(access, source, workspaceId, (atSource) =>
    withCellOf(access, target, workspaceId, (atTarget) => work({ home, source: atSource, target: atTarget })),
  );
}
