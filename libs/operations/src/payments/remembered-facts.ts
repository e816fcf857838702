import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { NamedPayment, PaymentFacts } from './payment-facts.js';

/** About 2 kB each. */
const REMEMBERED_MAX = 4_000;

/**
 * The facts of recent payments, so that an order is prepared without a round trip of its own. They may be out of date: compare them with
 * the facts behind the locks.
 */
export class RememberedFacts {
  private readonly facts = new LRUCache<string, PaymentFacts>({ max: REMEMBERED_MAX });

  /** The facts of an earlier payment of the same account to the same recipient. */
  recall(payment: NamedPayment): PaymentFacts | undefined {
    return this.facts.get(nameOf(payment));
  }

  /** @param facts of a payment without a quote */
  remember(payment: NamedPayment, facts: PaymentFacts): void {
    this.facts.set(nameOf(payment), { ...facts, reference_is_taken: false });
  }
}

const nameOf = ({ workspaceId, accountId, recipientId }: NamedPayment) =>
  `${workspaceId}/${accountId}/${recipientId ?? ''}`;

/** Whether a payment is prepared of both alike. The clock may differ: an instant order depends on its day only. */
export function areSameFacts(one: PaymentFacts, other: PaymentFacts): boolean {
  const names = Object.keys(one) as (keyof PaymentFacts)[];
  return names.every((name) => {
    const [value, second] = [one[name], other[name]];
    return value === second || name === 'now' || (typeof value === 'object' && isDeepStrictEqual(value, second));
  });
}
