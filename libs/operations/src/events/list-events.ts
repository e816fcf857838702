import {
  EVENT_RESOURCE_TYPES,
  EVENT_WAIT_MAX_S,
  type EventPage,
  type EventQuery,
  ID_MAX,
  isEventType,
  Refusal,
  type WorkspaceId,
} from '@banking/domain';
import { checkedLimit } from '../lists/list-page.js';
import { checkPeriod } from '../lists/period.js';
import type { CursorScope } from '../lists/sign-cursor.js';
import type { Reading } from '../resources/reading.js';
import { composeEvent } from './compose-event.js';
import type { EventWaits } from './event-waits.js';
import { type EventFilters, positionAt, type ReadEvents, readEvents } from './read-events.js';

/** @throws Refusal as the port's `listEvents` states */
export async function listEvents(
  { database, cursors }: Reading,
  waits: EventWaits,
  workspaceId: WorkspaceId,
  { limit, cursor, wait = 0, ...rest }: EventQuery,
  signal?: AbortSignal,
): Promise<EventPage> {
  const filters = checkedFilters(rest);
  const most = checkedLimit({ limit });
  if (!Number.isInteger(wait) || wait < 0 || wait > EVENT_WAIT_MAX_S) {
    throw invalid('wait', `wait must be a whole number from 0 to ${EVENT_WAIT_MAX_S}.`);
  }
  const endsAtMs = performance.now() + wait * 1_000;
  const scope: CursorScope = { list: 'list_events', workspaceId, filters };
  const { after, deletedBefore } =
    cursor === undefined
      ? { after: await startOf(filters, (instant) => positionAt(database, workspaceId, instant)) }
      : readPosition(await cursors.verifyText(scope, cursor));
  const read = (from: bigint) => readEvents(database, workspaceId, { after: from, limit: most, filters });

  let page = await read(after);
  // A reader without a cursor begins with the events that are left.
  const known = deletedBefore ?? page.deletedTo;
  if (page.deletedTo > after && page.deletedTo > known) throw new Refusal('cursor_expired');
  while (page.rows.length === 0 && !page.isCut) {
    if (!(await waits.until(workspaceId, page.position, endsAtMs - performance.now(), signal))) break;
    page = await read(page.position);
  }
  return { items: page.rows.map(composeEvent), next: await cursors.signText(scope, positionText(page, known)) };
}

/**
 * The position of a cursor, and up to which id events were deleted when the reader began without one. Such a reader lists what is left of
 * those, and is told when an event behind them is deleted.
 */
function readPosition(text: string): { readonly after: bigint; readonly deletedBefore: bigint } {
  const [after = '', deletedBefore = '0'] = text.split(' ');
  return { after: BigInt(after), deletedBefore: BigInt(deletedBefore) };
}

/** What was deleted before the beginning is of no account behind it. */
const positionText = ({ position }: ReadEvents, deletedBefore: bigint): string =>
  position >= deletedBefore ? `${position}` : `${position} ${deletedBefore}`;

async function startOf({ createdFrom }: EventFilters, at: (instant: string) => Promise<bigint>): Promise<bigint> {
  return createdFrom === undefined ? 0n : at(createdFrom);
}

/** The filters that are given, in one form for each meaning. */
function checkedFilters({ type, resourceType, resourceId, createdFrom, createdTo }: EventFilters): EventFilters {
  checkPeriod({ createdFrom, createdTo });
  if (type?.length === 0 || type?.some((one) => !isEventType(one))) {
    throw invalid('type', 'type must be one of the types of events.');
  }
  if (resourceType !== undefined && !EVENT_RESOURCE_TYPES.includes(resourceType)) {
    throw invalid('resourceType', `resourceType must be one of ${EVENT_RESOURCE_TYPES.join(', ')}.`);
  }
  if (resourceId !== undefined && !(Number.isInteger(resourceId) && resourceId >= 1 && resourceId <= ID_MAX)) {
    throw new Refusal('id_malformed');
  }
  if (resourceId !== undefined && resourceType === undefined) {
    throw invalid('resourceId', 'resourceId needs resourceType, because resources of two types may have the same id.');
  }
  return {
    ...(type !== undefined && { type: [...new Set(type)].sort() }),
    ...(resourceType !== undefined && { resourceType }),
    ...(resourceId !== undefined && { resourceId }),
    ...(createdFrom !== undefined && { createdFrom }),
    ...(createdTo !== undefined && { createdTo }),
  };
}

const invalid = (path: string, message: string): Refusal =>
  new Refusal('parameter_invalid', message, { details: [{ path, reason: 'parameter_invalid', message }] });
