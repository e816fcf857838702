import { type Event, type EventId, Refusal, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { Reading } from '../resources/reading.js';
import { composeEvent, EVENT_COLUMNS, type EventRow } from './compose-event.js';

const GET_EVENT = sqlStatement<EventRow>(
  'get_event',
  `select ${EVENT_COLUMNS} from event e where e.workspace_id = $1 and e.id = $2`,
);

/** @throws Refusal `event_not_found`, also for an event of another workspace */
export async function getEvent({ database }: Reading, workspaceId: WorkspaceId, eventId: EventId): Promise<Event> {
  const row = await database.readCoalesced({ workspaces: [workspaceId] }, bind(GET_EVENT, workspaceId, eventId));
  if (!row) throw new Refusal('event_not_found');
  return composeEvent(row);
}
