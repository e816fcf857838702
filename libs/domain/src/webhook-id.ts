import type { Event } from './resources/event.js';

/**
 * The `webhook-id` of an event: the same in each attempt. It contains the time of the event, because a database that was restored to an
 * earlier moment gives ids of events again.
 */
export const webhookIdOf = (workspaceId: number | bigint, { id, createdAt }: Pick<Event, 'id' | 'createdAt'>): string =>
  `evt_${workspaceId}_${id}_${createdAt.replaceAll(/\D/g, '')}`;
