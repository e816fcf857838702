import type { Event, EventId, EventPage, EventQuery, PlainNumber, Scope } from '@banking/domain';
import { followEvents, type FollowOptions } from './follow-events.js';
import type { RemoteBankingService } from './remote-banking-service.js';
import type { CallOptions } from './transport.js';

/** The events of one workspace, oldest first. */
export interface EventMethods {
  get(eventId: EventId | PlainNumber, options?: CallOptions): Promise<Event>;
  /** Iterates over the events up to now. */
  list(query?: EventQuery, options?: CallOptions): AsyncGenerator<Event, void, undefined>;
  /** One page. Its `next` is the `cursor` to continue from, and is always present. */
  listPage(query?: EventQuery, options?: CallOptions): Promise<EventPage>;
  /** Iterates over the events and waits for new ones: `for await (const event of events.follow({ signal }))`. */
  follow(options?: FollowOptions): AsyncGenerator<Event, void, undefined>;
}

export const eventMethods = (client: RemoteBankingService, scope: Scope): EventMethods => ({
  get: (id, options) => client.getEvent(scope, { eventId: id }, options),
  list: (query = {}, options) =>
    untilNow((cursor) => client.listEvents(scope, { ...query, cursor }, options), query.cursor),
  listPage: (query, options) => client.listEvents(scope, query, options),
  follow: (options = {}) => followEvents((query, call) => client.listEvents(scope, query, call), options),
});

/** The end is a page without events and with the requested position. */
async function* untilNow(
  pageAt: (cursor: string | undefined) => Promise<EventPage>,
  start: string | undefined,
): AsyncGenerator<Event, void, undefined> {
  for (let cursor = start; ;) {
    const { items, next } = await pageAt(cursor);
    yield* items;
    if (items.length === 0 && next === cursor) return;
    cursor = next;
  }
}
