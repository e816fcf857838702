import { checkOrders } from '../check-orders.js';
import type { LogEvent } from '../client-log.js';
import { type Operation, operationsOf } from '../history.js';
import type { BooksState } from '../read-books.js';

/** What the recovered books must have and must not have, by the clock of the clients: milliseconds. */
export interface Moment {
  /** An order acknowledged before this time is in the books. */
  readonly keptUntil: number;
  /** An order sent after this time is not. */
  readonly lostFrom: number;
}

export interface Comparison {
  readonly acknowledged: number;
  /** Acknowledged orders that the books have. */
  readonly kept: readonly Operation[];
  /** Acknowledged orders that the books lack. */
  readonly lost: readonly Operation[];
  readonly violations: readonly string[];
}

/** Compares the log of the clients with recovered books. */
export function compareBooks(
  events: readonly (LogEvent & { readonly at: number })[],
  books: BooksState,
  { keptUntil, lostFrom }: Moment,
): Comparison {
  const sentAt = new Map<string, number>();
  const acknowledgedAt = new Map<string, number>();
  for (const event of events) {
    if (event.event === 'send' && !sentAt.has(event.key)) sentAt.set(event.key, event.at);
    if (event.event === 'response' && event.outcome === 'ok' && !acknowledgedAt.has(event.key))
      acknowledgedAt.set(event.key, event.at);
  }
  const operations = operationsOf(events);
  const booked = new Set(books.orders.map(({ key }) => key));
  const acknowledged = operations.filter(({ outcome }) => outcome === 'ok');
  const lost = acknowledged.filter(({ key }) => !booked.has(key));
  const present = operations.filter(({ key, outcome }) => booked.has(key) || outcome !== 'ok');
  return {
    acknowledged: acknowledged.length,
    kept: acknowledged.filter(({ key }) => booked.has(key)),
    lost,
    violations: [
      ...lost
        .filter(({ key }) => (acknowledgedAt.get(key) ?? Infinity) < keptUntil)
        .map(({ key }) => `${key} was acknowledged before the moment of the recovery, and is lost`),
      ...operations
        .filter(({ key }) => booked.has(key) && (sentAt.get(key) ?? 0) > lostFrom)
        .map(({ key }) => `${key} was sent after the moment of the recovery, and is in the books`),
      ...checkOrders(present, books).map(({ detail }) => detail),
    ],
  };
}
