import { checkWebhooks } from './check-webhooks.js';
import type { Arrival } from './webhook-receiver.js';

const arrival = (eventId: number, sequence: number, more: Partial<Arrival> = {}): Arrival => ({
  ...{ webhookId: `evt_1_${eventId}`, eventId, resource: 'account 1', sequence, atMs: 0, isSigned: true },
  reaction: 'deliver',
  ...more,
});
const EVENTS = [1, 2, 3].map((id) => ({ id, resource: 'account 1', sequence: id }));
const check = (arrivals: readonly Arrival[], missing: readonly number[] = []) =>
  checkWebhooks(arrivals, new Set([1, 2, 3].filter((id) => !missing.includes(id))), EVENTS).map(({ detail }) => detail);

describe('the check of webhooks', () => {
  const whole = [arrival(1, 1), arrival(2, 2), arrival(3, 3)];

  it('accepts each event in order, also repeated ones', () => {
    expect(check([...whole, arrival(1, 1), arrival(3, 3), arrival(2, 2)])).toEqual([]);
    expect(check([whole[0]!, arrival(5, 9, { resource: 'account 2' }), whole[1]!, whole[2]!])).toEqual([]);
  });

  it('finds an event that did not arrive', () => expect(check(whole, [2])).toEqual(['1 events did not arrive: 2']));

  it('finds a first request before an earlier event of its resource', () => {
    expect(check([arrival(1, 1), arrival(3, 3), arrival(2, 2)])).toEqual([
      '1 first requests came before one of the same resource: 2',
    ]);
  });

  it('finds a request without a valid signature, and one with another id', () => {
    expect(check([...whole, arrival(2, 2, { isSigned: false })])).toEqual([
      '1 requests had no valid signature: evt_1_2',
    ]);
    expect(check([...whole, arrival(2, 2, { webhookId: 'other' })])).toContain(
      '1 requests for an event had another webhook-id: other',
    );
  });
});
