import type { Event, EventChanges, EventId } from '@banking/domain';
import { timestampOf } from '../resources/timestamp-of.js';

/** The changes as they are stored: the status before a new resource is null. */
type StoredChanges = Omit<EventChanges, 'status'> & {
  readonly status?: { readonly before: string | null; readonly after: string };
};

export interface EventRow {
  readonly id: bigint;
  readonly type: string;
  readonly resourceType: string;
  readonly resourceId: bigint;
  readonly sequence: number;
  readonly changes: StoredChanges;
  readonly actor: Event['actor'];
  readonly createdAt: string;
}

/** The columns of an event `e`. */
export const EVENT_COLUMNS = `e.id, e.type, e.resource_type as "resourceType", e.resource_id as "resourceId", e.sequence, e.changes,
  e.actor, e.created_at as "createdAt"`;

export const composeEvent = (row: EventRow): Event => ({
  id: Number(row.id) as EventId,
  type: row.type,
  createdAt: timestampOf(row.createdAt),
  sequence: row.sequence,
  resource: { type: row.resourceType, id: Number(row.resourceId) },
  changes: changesOf(row.changes),
  actor: row.actor,
});

/** The interface never sends null. */
function changesOf({ status, ...ids }: StoredChanges): EventChanges {
  if (status === undefined) return ids;
  const { before, after } = status;
  return { status: before === null ? { after } : { before, after }, ...ids };
}
