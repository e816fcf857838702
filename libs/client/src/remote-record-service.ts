import {
  BankingService,
  type Event,
  type EventId,
  type EventPage,
  type EventQuery,
  type PlainNumber,
  type Scope,
} from '@banking/domain';
import { digits, search } from './call-arguments.js';
import { type Calls, inWorkspace } from './calls.js';
import type { CallOptions } from './transport.js';

/** The operations of the port that tell what happened, over HTTP. */
export abstract class RemoteRecordService extends BankingService {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    super();
    this.#calls = calls;
  }

  async listEvents(scope: Scope, query: EventQuery = {}, options?: CallOptions): Promise<EventPage> {
    const holdMs = (query.wait ?? 0) * 1_000;
    return this.#calls.followedPage<Event>('listEvents', inWorkspace(scope), `events${search(query)}`, holdMs, options);
  }

  async getEvent(
    scope: Scope,
    { eventId }: { readonly eventId: EventId | PlainNumber },
    options?: CallOptions,
  ): Promise<Event> {
    return this.#calls.get('getEvent', inWorkspace(scope), `events/${digits(eventId)}`, options, eventId);
  }
}
