import type { AuditQuery } from './audit-query.js';
import type { EventPage, EventQuery } from './event-query.js';
import type { EventId, PlainNumber } from './ids.js';
import type { Page } from './lists.js';
import type { AuditEvent } from './resources/audit-event.js';
import type { Event } from './resources/event.js';
import type { Scope } from './scope.js';

/** The part of the port that tells what happened. */
export abstract class RecordService {
  /**
   * GET /events: the events of the workspace, oldest first. A reader who follows `next` misses none. With `wait`, a call that finds
   * none waits for one. An abort of `scope.signal` ends the wait early.
   *
   * @throws Refusal `parameter_invalid` for an unknown type, for a `resourceId` without `resourceType`, and for another `wait`.
   * @throws Refusal `id_malformed`, `limit_invalid`, `cursor_invalid`, `timestamp_invalid`.
   * @throws Refusal `cursor_expired` if events behind the cursor were deleted because of their age.
   * @throws Refusal `route_not_found` from an upstream without events.
   */
  abstract listEvents(scope: Scope, query?: EventQuery): Promise<EventPage>;

  /** GET /events/{eventId}. @throws Refusal `event_not_found`; `route_not_found` as `listEvents` */
  abstract getEvent(scope: Scope, query: { readonly eventId: EventId | PlainNumber }): Promise<Event>;

  /**
   * GET /audit-events: the audit trail of the workspace, newest first. An entry appears shortly after its change.
   *
   * @throws Refusal `parameter_invalid` for a `resourceType` without `resourceId`.
   * @throws Refusal `limit_invalid`, `cursor_invalid`, `timestamp_invalid`; `route_not_found` from an upstream without an audit trail.
   */
  abstract listAuditEvents(scope: Scope, query?: AuditQuery): Promise<Page<AuditEvent>>;
}
