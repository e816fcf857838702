import { Refusal, RETRY_AFTER_S, type WorkspaceId } from '@banking/domain';
import { isServedElsewhere } from '@banking/postgres';
import type { Places } from './places.js';

/**
 * Calls the cell of a workspace. If that cell does not serve the workspace, nothing has happened: the place is read again, once.
 *
 * @throws Refusal `unavailable` if the workspace is being moved, and what `call` throws
 */
export async function callCell<T>(
  places: Places,
  workspaceId: WorkspaceId,
  call: (cellNumber: number) => Promise<T>,
): Promise<T> {
  const place = places.known(workspaceId) ?? (await places.cellOf(workspaceId));
  try {
    return await call(place);
  } catch (error) {
    if (!isServedElsewhere(error)) throw error;
    return callOtherCell(places, workspaceId, place, call, error);
  }
}

async function callOtherCell<T>(
  places: Places,
  workspaceId: WorkspaceId,
  former: number,
  call: (cellNumber: number) => Promise<T>,
  cause: unknown,
): Promise<T> {
  const place = await places.readAgain(workspaceId);
  if (place === former) throw notOpen(cause);
  return call(place).catch((error: unknown) => {
    throw isServedElsewhere(error) ? notOpen(error) : error;
  });
}

const notOpen = (cause: unknown): Refusal =>
  new Refusal('unavailable', 'The workspace is being moved to another database.', {
    retryAfterSeconds: RETRY_AFTER_S,
    cause,
  });
