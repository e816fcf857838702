import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const EVENT_ID = [
  'eventId',
  'An event of the workspace. The response is the same for an event of another workspace and one that does not exist.',
] as const;

export const listEvents: OperationText = {
  summary: 'List events',
  description: paragraphs(
    'Lists what happened in the workspace, **oldest first**. An event names the resource, its status before and after, and who changed it.',
    'It has no amounts, names or account codes: read the resource.',
    '',
    '`Link` with the relation `next` is always present. Store its cursor after you have processed the page, and continue from it.',
    'A reader who follows it misses no event. A page may have fewer events than `limit`, or none, while there are more:',
    'the end is a page without events whose cursor is the one you sent.',
    '',
    'With `wait`, the response is sent as soon as there is an event, and without one when the time is over.',
    'It may be sent early, for example when the service stops. Your access is checked again before a held response is sent.',
    'At most 10 requests of a user, and 50 of a workspace, are held at a time; another one is refused with `rate_limited`.',
    '',
    'Events are kept for 30 days, unless the deployment keeps them for another time.',
    'A cursor is refused with `cursor_expired` if events behind it were deleted. Without a cursor, the list begins with the events that are left.',
  ),
  provenance: 'ours',
  refusals: ['parameter_invalid', 'id_malformed', 'timestamp_invalid', 'cursor_expired'],
  isPaged: true,
  isHeld: true,
};

export const getEvent: OperationText = {
  summary: 'Retrieve an event',
  description: 'Returns one event of the workspace.',
  provenance: 'ours',
  refusals: ['id_malformed', 'event_not_found'],
};
