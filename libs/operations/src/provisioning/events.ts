import type { Event, EventType, WorkspaceId } from '@banking/domain';
import { composeEvent } from '../events/compose-event.js';
import { EventWaits } from '../events/event-waits.js';
import { positionNow, readEvents } from '../events/read-events.js';
import type { Database } from '@banking/postgres';
import { ProvisioningError } from './trail.js';
import { workspacesHere } from './workspaces.js';

export interface EventTail {
  readonly workspaceId: WorkspaceId;
  /** The id of an event. The iteration begins behind it. Without it, it begins with the next event. */
  readonly after?: number | undefined;
  readonly types?: readonly EventType[] | undefined;
  readonly signal: AbortSignal;
}

const LIMIT = 100;
const WAIT_MS = 20_000;

/**
 * Iterates over the events of a workspace, oldest first, and waits for new ones until the signal is aborted.
 *
 * @throws ProvisioningError if the database has no such workspace
 */
export async function* tailEvents(
  database: Database,
  { workspaceId, after, types, signal }: EventTail,
): AsyncGenerator<Event, void, undefined> {
  const workspaces = await workspacesHere(database);
  if (!workspaces.some(({ id }) => id === workspaceId)) {
    throw new ProvisioningError(`There is no workspace ${workspaceId}. See banking workspace list.`);
  }
  const waits = new EventWaits(database);
  let position = after === undefined ? await positionNow(database, workspaceId) : BigInt(after);
  while (!signal.aborted) {
    const page = await readEvents(database, workspaceId, { after: position, limit: LIMIT, filters: { type: types } });
    yield* page.rows.map(composeEvent);
    position = page.position;
    if (!page.isCut) await waits.until(workspaceId, position, WAIT_MS, signal);
  }
}
