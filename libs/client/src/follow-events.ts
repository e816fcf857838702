import type { Event, EventId, EventPage, EventQuery, PlainNumber, Scope } from '@banking/domain';
import type { RemoteBankingService } from './remote-banking-service.js';
import type { CallOptions } from './transport.js';
import { ConnectionError, RemoteRefusal, ServiceError } from './errors.js';
import { mayRetry, pauseMs } from './retry-policy.js';

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

export type ReadEventPage = (query: EventQuery, options: CallOptions) => Promise<EventPage>;

/** How `follow` reads. */
export interface FollowOptions {
  /** The cursor to continue from, as `saveCursor` received it. Without it, the iteration begins with the oldest event that is kept. */
  readonly after?: string | undefined;
  readonly types?: EventQuery['type'];
  readonly resourceType?: EventQuery['resourceType'];
  readonly resourceId?: number | undefined;
  /** RFC 3339 with an offset. The iteration begins with events of this instant or later. */
  readonly createdFrom?: string | undefined;
  /** The number of events that are read at once. 100 by default. */
  readonly limit?: number | undefined;
  /** How long the service holds a request without an event: 0 to 20 seconds. 20 by default. */
  readonly waitS?: number | undefined;
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with a cursor when all events before it were processed: when the next event is requested. A program that stores it continues
   * from it after a restart, and processes the events of one page again at most.
   */
  readonly saveCursor?: ((cursor: string) => void | Promise<void>) | undefined;
}

const WAIT_DEFAULT_S = 20;
/** A response without events that arrives earlier than this is followed by a pause, so that a service that stops is not flooded. */
export const EARLY_MS = 1_000;

/**
 * Iterates over the events of a workspace, oldest first, and waits for new ones. It ends when the signal is aborted. After a failure
 * that may pass, it goes on from the same position, with growing pauses.
 *
 * @throws every failure that a retry cannot change, such as RemoteRefusal `workspace_forbidden`
 */
async function* followEvents(
  read: ReadEventPage,
  { after, types, waitS = WAIT_DEFAULT_S, signal, saveCursor, ...filters }: FollowOptions,
): AsyncGenerator<Event, void, undefined> {
  let cursor = after;
  let failures = 0;
  while (!isAborted(signal)) {
    const startedAtMs = performance.now();
    let page: EventPage;
    try {
      page = await read({ ...filters, type: types, cursor, wait: waitS }, { signal });
      failures = 0;
    } catch (error) {
      if (isAborted(signal)) return;
      if (!isTransient(error)) throw error;
      failures += 1;
      await pause(pauseMs(failures, error, Math.random()), signal);
      continue;
    }
    for (const event of page.items) {
      yield event;
      if (isAborted(signal)) return;
    }
    if (page.next !== cursor) await saveCursor?.(page.next);
    const isEarly = page.next === cursor && performance.now() - startedAtMs < EARLY_MS;
    cursor = page.next;
    if (isEarly) await pause(EARLY_MS, signal);
  }
}

/** A function, because the state changes while the iteration waits. */
const isAborted = (signal: AbortSignal | undefined) => signal?.aborted === true;

/** Whether the retry policy repeats a read after this failure. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ConnectionError || error instanceof RemoteRefusal || error instanceof ServiceError))
    return false;
  const status = error instanceof ConnectionError ? undefined : error.status;
  return mayRetry({ operation: 'listEvents', method: 'GET', path: 'events' }, error, status);
}

/** Resolves after the time, or when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (isAborted(signal)) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}
