import type { AccountId, Order, TransferAmount } from '@banking/domain';
import { actorsOf, eventWorld, readEvents, stepsOf } from '../testing/event-world.js';

let given: Awaited<ReturnType<typeof eventWorld>>;
let { world, ada, eve } = {} as typeof given;

beforeAll(async () => {
  given = await eventWorld();
  ({ world, ada, eve } = given);
});
afterAll(() => world.close());
afterEach(() => given.expectVerified());

const amount = '10000' as TransferAmount;

describe('the events of an account', () => {
  it('tell that it was opened, changed, disabled and enabled, and by whom', async () => {
    let accountId = 0 as AccountId;
    const events = await given.eventsOf(async () => {
      accountId = await given.account(1, '0');
      await given.service.changeAccount(ada, { accountId, alias: 'Rent' });
      await given.service.changeAccount(ada, { accountId, alias: 'Rent' });
      await given.service.changeAccount(ada, { accountId, alias: 'Salaries', status: 'disabled' });
      await given.service.changeAccount(ada, { accountId, status: 'enabled' });
    });

    expect(stepsOf(events)).toEqual([
      'account.opened null>enabled',
      'account.changed',
      'account.disabled enabled>disabled',
      'account.changed',
      'account.enabled disabled>enabled',
    ]);
    expect(events.map(({ resource_id: id, sequence }) => [Number(id), sequence])).toEqual(
      [1, 2, 3, 4, 5].map((sequence) => [accountId, sequence]),
    );
    expect(actorsOf(events)).toEqual(given.byAda);
  });
});

describe('the events of a recipient and a quote', () => {
  it('tell that they were made, changed and deleted, with ids only', async () => {
    const accountId = await given.account(1, amount);
    const { code = '' } = await given.service.getAccount(ada, { accountId: await given.account(1, '0') });
    const events = await given.eventsOf(async () => {
      const { resource } = await given.service.addInternalRecipient(ada, { accountCode: code });
      await given.service.changeRecipient(ada, { recipientId: resource.id, alias: 'Landlord' });
      await given.service.createQuote(ada, { accountID: accountId, recipientID: resource.id, amount });
      await given.service.deleteRecipient(ada, { recipientId: resource.id });
    });

    expect(stepsOf(events)).toEqual(['recipient.added', 'recipient.changed', 'quote.created', 'recipient.archived']);
    expect(events.map(({ changes }) => changes)).toEqual([
      {},
      {},
      { accountId, recipientId: Number(events[0]!.resource_id) },
      {},
    ]);
    expect(actorsOf(events)).toEqual(given.byAda);
  });
});

describe('the events of an order', () => {
  it('that is paid at once tell the whole payment, by its placer', async () => {
    const payer = await given.account(1, amount);
    const payee = await given.account(1, '0');
    const recipient = await given.near(payee);
    let order = {} as Order;
    const events = await given.eventsOf(async () => {
      order = (await given.service.placeOrder(ada, given.order(payer, recipient))).resource;
    });
    const execution = order.edges.executions![0]!;
    const transactionId = execution.edges.transaction!.id;

    expect(stepsOf(events)).toEqual([
      'transaction.completed null>completed',
      'transfer.booked',
      'transfer.booked',
      'order.placed null>active',
      'order.completed active>completed',
      'execution.completed null>completed',
    ]);
    expect(events.map(({ changes: { status, ...ids } }) => ids)).toEqual([
      {},
      { accountId: payer, recipientId: recipient, transactionId },
      { accountId: payee, transactionId },
      { accountId: payer, recipientId: recipient },
      { accountId: payer, recipientId: recipient },
      { orderId: order.id, transactionId },
    ]);
    expect(actorsOf(events)).toEqual(given.byAda);
  });

  it('to another workspace do not name the placer there', async () => {
    const payer = await given.account(1, amount);
    const payee = await given.account(1, '0', eve);
    const recipient = await given.near(payee, ada, eve);
    const events = await given.eventsOf(() => given.service.placeOrder(ada, given.order(payer, recipient)));

    const there = events.filter(({ workspace_id: id }) => Number(id) === eve.workspaceId);
    expect(stepsOf(there)).toEqual(['transaction.completed null>completed', 'transfer.booked']);
    expect(actorsOf(there)).toEqual(['{"type":"system"}']);
    expect(actorsOf(events.filter((event) => !there.includes(event)))).toEqual(given.byAda);
  });

  it('of several users in one batch name each placer', async () => {
    const payers = [await given.account(1, amount), await given.account(1, amount, eve)] as const;
    const payees = [await given.account(1, '0'), await given.account(1, '0', eve)] as const;
    const recipients = [await given.near(payees[0]), await given.near(payees[1], eve, eve)] as const;
    const events = await given.eventsOf(() =>
      Promise.all([
        given.service.placeOrder(ada, given.order(payers[0], recipients[0])),
        given.service.placeOrder(eve, given.order(payers[1], recipients[1])),
      ]),
    );

    const byWorkspace = events.map(({ workspace_id: id, actor }) => `${id} ${actor.type} ${actor.id}`);
    expect([...new Set(byWorkspace)].sort()).toEqual(
      [`${ada.workspaceId} user ${ada.actor}`, `${eve.workspaceId} user ${eve.actor}`].sort(),
    );
    expect(events).toHaveLength(12);
  });
});

it('events contain ids and states only', async () => {
  const { rows } = await world.owner.query<{ key: string }>(
    `select distinct k.key from event e, lateral jsonb_object_keys(e.changes) k (key) order by 1`,
  );

  expect(rows.map(({ key }) => key)).toEqual([
    'accountId',
    'orderId',
    'quoteId',
    'recipientId',
    'status',
    'transactionId',
  ]);
  expect((await readEvents(world.owner)).every(({ actor }) => actor.id === undefined || actor.id > 0)).toBe(true);
});
