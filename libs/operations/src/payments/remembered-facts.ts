import { isDeepStrictEqual } from 'node:util';
import type { NamedPayment, PaymentFacts } from './payment-facts.js';

/** About 2 kB each. */
const REMEMBERED_MAX = 4_000;

/**
 * The facts of recent payments, so that an order is prepared without a round trip of its own. They may be out of date: compare them with
 * the facts behind the locks. The least recently used are dropped first.
 */
export class RememberedFacts {
  private readonly facts = new Map<string, PaymentFacts>();

  /** The facts of an earlier payment of the same account to the same recipient. */
  recall(payment: NamedPayment): PaymentFacts | undefined {
    const name = nameOf(payment);
    const facts = this.facts.get(name);
    if (!facts) return undefined;
    this.facts.delete(name);
    this.facts.set(name, facts);
    return facts;
  }

  /** @param facts of a payment without a quote */
  remember(payment: NamedPayment, facts: PaymentFacts): void {
    this.facts.set(nameOf(payment), { ...facts, reference_is_taken: false });
    const oldest = this.facts.keys().next();
    if (this.facts.size > REMEMBERED_MAX && !oldest.done) this.facts.delete(oldest.value);
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
