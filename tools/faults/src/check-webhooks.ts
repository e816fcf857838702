import type { Violation } from './check-orders.js';
import type { PlantedEvent } from './webhook-events.js';
import type { Arrival } from './webhook-receiver.js';

const SHOWN = 3;

/** Compares what a receiver got with the events that were recorded: none missing, in order at first, signed, with one id each. */
export function checkWebhooks(
  arrivals: readonly Arrival[],
  delivered: ReadonlySet<number>,
  events: readonly PlantedEvent[],
): readonly Violation[] {
  const missing = events.filter(({ id }) => !delivered.has(id));
  const unsigned = arrivals.filter(({ isSigned }) => !isSigned);
  return [
    ...violation(missing, 'events did not arrive', ({ id }) => String(id)),
    ...violation(
      inversionsOf(arrivals),
      'first requests came before one of the same resource',
      ({ eventId }) => `${eventId}`,
    ),
    ...violation(unsigned, 'requests had no valid signature', ({ webhookId }) => webhookId),
    ...violation(renamed(arrivals), 'requests for an event had another webhook-id', ({ webhookId }) => webhookId),
  ];
}

function violation<T>(wrong: readonly T[], what: string, nameOf: (one: T) => string): readonly Violation[] {
  if (wrong.length === 0) return [];
  const names = wrong.slice(0, SHOWN).map(nameOf).join(', ');
  return [{ check: 'webhooks', detail: `${wrong.length} ${what}: ${names}` }];
}

/** The first request for each event that came after one for a later event of its resource. */
function inversionsOf(arrivals: readonly Arrival[]): readonly Arrival[] {
  const seen = new Set<string>();
  const last = new Map<string, number>();
  return arrivals.filter(({ webhookId, resource, sequence }) => {
    if (seen.has(webhookId)) return false;
    seen.add(webhookId);
    const before = last.get(resource) ?? 0;
    last.set(resource, Math.max(before, sequence));
    return sequence < before;
  });
}

function renamed(arrivals: readonly Arrival[]): readonly Arrival[] {
  const names = new Map<number, string>();
  return arrivals.filter(({ eventId, webhookId }) => {
    const name = names.get(eventId) ?? webhookId;
    names.set(eventId, name);
    return name !== webhookId;
  });
}
