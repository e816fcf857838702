import type { EventType } from './event-types.js';
import type { Page, PageQuery } from './lists.js';
import type { EventResourceType } from './event-resource-types.js';
import type { Event } from './resources/event.js';

/** The longest time that a request for events is held, in seconds. */
export const EVENT_WAIT_MAX_S = 20;

/** Filters of the list of events. They are combined with AND. */
export interface EventQuery extends PageQuery {
  /** Events of any of these types. */
  readonly type?: readonly EventType[] | undefined;
  readonly resourceType?: EventResourceType | undefined;
  /** Together with `resourceType`, because resources of two types may have the same id. */
  readonly resourceId?: number | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
  /** How long a request that finds no event is held: whole seconds from 0 to {@link EVENT_WAIT_MAX_S}. 0 if it is omitted. */
  readonly wait?: number | undefined;
}

/** A page of events, oldest first. It may have fewer items than the limit, or none, while later events exist. */
export interface EventPage extends Page<Event> {
  /** The position behind this page. It is always present. A page without items and with the requested position is the end for now. */
  readonly next: string;
}
