import { EVENT_TYPES, type Event, type TransferAmount } from '@banking/domain';
import { eventWorld } from '../testing/event-world.js';
import { expectWellFormed, recipientAbroad } from '../testing/order-world.js';
import { composeEvent } from './events.js';

let given: Awaited<ReturnType<typeof eventWorld>>;

beforeAll(async () => {
  given = await eventWorld();
});
afterAll(() => given.world.close());

const amount = '10000' as TransferAmount;

/** A quoted payment abroad that is rejected, and a scheduled order that is cancelled. */
async function changeMuch(): Promise<void> {
  const { ada, service } = given;
  const payer = await given.account(1, '1000000');
  const recipientID = await recipientAbroad(service, ada, 'DE73370400440532019011');
  const quote = await service.createQuote(ada, { accountID: payer, recipientID, amount });
  const input = { ...given.order(payer, recipientID), amount, purposeCode: 'IR001', quoteID: quote.resource.id };
  const { resource } = await service.placeOrder(ada, input);
  const { id: transactionId } = resource.edges.executions![0]!.edges.transaction!;
  await service.addTransactionEvent(ada, { transactionId, status: 'RJCT' });
  const near = await given.near(await given.account(1, '0'));
  const later = { ...given.order(payer, near), type: 'scheduled', startAt: '2099-01-31T09:00:00Z' } as const;
  const { resource: scheduled } = await service.placeOrder(ada, later);
  await service.cancelOrder(ada, { accountId: payer, orderId: scheduled.id });
}

describe('an event', () => {
  it('has every stored id, each with a name in ID', async () => {
    const stored = await given.eventsOf(changeMuch);

    const { items } = await given.service.listEvents(given.ada, { limit: 500 });
    const byId = new Map(items.map((event) => [event.id as number, event]));
    const seen = new Set<string>();
    for (const { id, changes } of stored) {
      const { status: _, ...ids } = changes as Readonly<Record<string, unknown>>;
      const { status: __, ...composed } = byId.get(Number(id))!.changes;
      const expected = Object.entries(ids).map(([name, value]) => [name.replace(/Id$/, 'ID'), value] as const);
      expect(composed).toEqual(Object.fromEntries(expected));
      for (const name of Object.keys(composed)) seen.add(name);
    }

    expect([...seen].sort()).toEqual(['accountID', 'orderID', 'quoteID', 'recipientID', 'transactionID']);
    expectWellFormed(items);
  });

  it.each(EVENT_TYPES)('of the type $type names its ids as the interface does', ({ type, resource, steps }) => {
    const [step] = steps as readonly (readonly [string | null, string])[];
    const ids = { accountId: 1, recipientId: 2, quoteId: 3, orderId: 4, transactionId: 5 };
    const row = { id: 1n, type, resourceType: resource, resourceId: 7n, sequence: 1, actor: { type: 'user', id: 8 } };
    const status = step && { before: step[0], after: step[1] };

    const event: Event = composeEvent({
      ...row,
      changes: { ...(status && { status }), ...ids },
      createdAt: '2026-11-21 09:30:00.123456+00',
    } as never);

    const shown = status && { ...(status.before !== null && { before: status.before }), after: status.after };
    expect(event.changes).toEqual({
      ...(shown && { status: shown }),
      ...{ accountID: 1, recipientID: 2, quoteID: 3, orderID: 4, transactionID: 5 },
    });
  });
});
