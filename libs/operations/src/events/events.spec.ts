import {
  type AccountId,
  type Event,
  EVENT_TYPES,
  type Order,
  type OrderId,
  type TransferAmount,
  type UserId,
} from '@banking/domain';
import { recordEvent, releaseParkedWork } from '@banking/payouts';
import { addGrants, addUser, removeGrants, resumePausedOrder } from '../provisioning/index.js';
import { actorsOf, type EventRow, eventWorld, readEvents, stepsOf } from '../testing/event-world.js';
import { expectWellFormed, recipientAbroad } from '../testing/order-world.js';
import { composeEvent } from './events.js';

let given: Awaited<ReturnType<typeof eventWorld>>;
let { world, ada, eve } = {} as typeof given;

beforeAll(async () => {
  given = await eventWorld();
  ({ world, ada, eve } = given);
});

afterAll(() => world.close());

const amount = '10000' as TransferAmount;

describe('events', () => {
  afterEach(() => given.expectVerified());

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
        await given.service.verifyRecipient(ada, { recipientId: resource.id });
        await given.service.createQuote(ada, { accountID: accountId, recipientID: resource.id, amount });
        await given.service.deleteRecipient(ada, { recipientId: resource.id });
      });

      expect(stepsOf(events)).toEqual([
        'recipient.added',
        'recipient.changed',
        'recipient.verified',
        'quote.created',
        'recipient.archived',
      ]);
      expect(events.map(({ changes }) => changes)).toEqual([
        {},
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
});

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

describe('events of payouts and runs', () => {
  afterEach(() => given.expectVerified());

  /** IBANs with valid check digits. The last four characters select the behaviour of the sandbox network. */
  const CREDITED = 'DE89370400440532013000';
  const UNDECIDED = 'DE73370400440532019011';

  async function payAbroad(iban: string): Promise<{ order: Order; transactionId: number }> {
    const payer = await given.account(1, '1000000');
    const recipientID = await recipientAbroad(given.service, ada, iban);
    const input = { ...given.order(payer, recipientID), amount, purposeCode: 'IR001' };
    const order = (await given.service.placeOrder(ada, input)).resource;
    return { order, transactionId: order.edges.executions![0]!.edges.transaction!.id };
  }

  describe('the events of a payout', () => {
    const PLACED = ['transaction.created null>pending', 'execution.started null>pending'];

    it('that arrives tell it once the network reports it', async () => {
      const placed = await given.eventsOf(() => payAbroad(UNDECIDED));
      const { transactionId } = await payAbroad(UNDECIDED);
      const events = await given.eventsOf(() =>
        recordEvent(world.books, ada.workspaceId, transactionId, { providerEvent: 'a', status: 'ACCC' }),
      );

      expect(stepsOf(placed)).toEqual(expect.arrayContaining(PLACED));
      expect(stepsOf(events).sort()).toEqual([
        'execution.completed pending>completed',
        'transaction.completed pending>completed',
      ]);
      expect(actorsOf(events)).toEqual(['{"type":"network"}']);
    });

    it('that is rejected tell that the money came back, and name the return', async () => {
      const { transactionId } = await payAbroad(UNDECIDED);
      const events = await given.eventsOf(() =>
        recordEvent(world.books, ada.workspaceId, transactionId, { providerEvent: 'a', status: 'RJCT' }),
      );

      expect(stepsOf(events).sort()).toEqual([
        'execution.failed pending>failed',
        'transaction.completed null>completed',
        'transaction.failed pending>failed',
        'transaction.returned',
        'transfer.booked',
      ]);
      const returned = events.find(({ type }) => type === 'transaction.returned')!;
      const back = events.find(({ type }) => type === 'transaction.completed')!;
      expect(Number(returned.resource_id)).toBe(transactionId);
      expect(returned.changes).toEqual({ transactionId: Number(back.resource_id) });
      expect(back.changes).toMatchObject({ transactionId });
      expect(actorsOf(events)).toEqual(['{"type":"network"}']);
    });

    it('that is parked and released name the operator', async () => {
      const { transactionId } = await payAbroad(UNDECIDED);
      const { workspaceId } = ada;
      const parked = await given.eventsOf(async () => {
        const key = [workspaceId, transactionId];
        await world.owner.query(
          `update payout set status = 'submitting', tries = 1 where (workspace_id, transaction_id) = ($1, $2)`,
          key,
        );
        await world.owner.query(
          `update payout set status = 'parked', parked_at = now() where (workspace_id, transaction_id) = ($1, $2)`,
          key,
        );
        await world.owner.query(`update work set parked_at = now() where (workspace_id, subject_id) = ($1, $2)`, key);
      });
      const released = await given.eventsOf(() =>
        releaseParkedWork(world.database, { workspaceId, kind: 'payout', subjectId: transactionId }),
      );

      expect(stepsOf(parked)).toEqual(['payout.parked submitting>parked']);
      expect(stepsOf(released)).toEqual(['payout.released parked>due']);
      expect(Number(released[0]!.resource_id)).toBe(transactionId);
      expect(actorsOf(released)).toEqual(['{"type":"operator"}']);
    });
  });

  describe('the events of an order for later', () => {
    async function placeDaily(runs: number, by = ada) {
      const payer = await given.account(1, '100000');
      const recipientID = await given.near(await given.account(1, '0'));
      const { resource } = await given.service.placeOrder(by, {
        ...given.order(payer, recipientID),
        type: 'recurring',
        repeatUnit: 'daily',
        repeatValue: 1,
        startAt: '2040-03-01T09:00:00Z',
        stopAt: `2040-03-0${runs}T10:00:00Z`,
      });
      return { payer, order: resource };
    }
    const makeDue = ({ id }: Order) =>
      world.owner.query(
        `update work set due_at = now() where kind = 'execution' and subject_id in (
         select id from execution where order_id = $1 and status = 'scheduled')`,
        [id],
      );
    const orderOf = (payer: AccountId, orderId: OrderId) => ({ accountId: payer, orderId });

    it('tell its runs, each by the service itself', async () => {
      let placed = {} as Awaited<ReturnType<typeof placeDaily>>;
      const placing = await given.eventsOf(async () => (placed = await placeDaily(2)));
      const runs = await given.eventsOf(async () => {
        await makeDue(placed.order);
        await given.work();
        await makeDue(placed.order);
        await given.work();
      });

      const ofOrder = (events: readonly EventRow[]) =>
        events.filter(({ resource_type: type }) => type === 'order' || type === 'execution');
      expect(stepsOf(ofOrder(placing))).toEqual(['order.placed null>active', 'execution.scheduled null>scheduled']);
      expect(actorsOf(ofOrder(placing))).toEqual(given.byAda);
      expect(stepsOf(ofOrder(runs))).toEqual([
        'execution.scheduled null>scheduled',
        'execution.completed scheduled>completed',
        'order.completed active>completed',
        'execution.completed scheduled>completed',
      ]);
      expect(actorsOf(runs)).toEqual(['{"type":"system"}']);
    });

    it('tell that it was cancelled, by whom', async () => {
      const { payer, order } = await placeDaily(2);
      const events = await given.eventsOf(() => given.service.cancelOrder(ada, orderOf(payer, order.id)));

      expect(stepsOf(events)).toEqual(['order.cancelled active>cancelled', 'execution.cancelled scheduled>cancelled']);
      expect(actorsOf(events)).toEqual(given.byAda);
    });

    it('tell that a run and with it the order failed', async () => {
      const payer = await given.account(1, '0');
      const recipientID = await given.near(await given.account(1, '0'));
      const input = { ...given.order(payer, recipientID), type: 'scheduled', startAt: '2040-03-01T09:00:00Z' } as const;
      const order = (await given.service.placeOrder(ada, input)).resource;
      const events = await given.eventsOf(async () => {
        await makeDue(order);
        await given.work();
      });

      expect(stepsOf(events)).toEqual(['order.failed active>failed', 'execution.failed scheduled>failed']);
    });

    it('tell that it was paused, and resumed by an operator', async () => {
      const email = 'leaver@northwind.example';
      const { workspaceId } = ada;
      const leaver = (await addUser(world.provisioning, 'ops', { email, app: 'Northwind Treasury' })) as UserId;
      await addGrants(world.provisioning, 'ops', { workspaceId, email, roles: ['member'] });
      const { order } = await placeDaily(3, { workspaceId, actor: leaver });
      await removeGrants(world.provisioning, 'ops', { workspaceId, email });
      const paused = await given.eventsOf(async () => {
        await makeDue(order);
        await given.work();
      });
      const resumed = await given.eventsOf(() =>
        resumePausedOrder(world.database, {
          workspaceId,
          orderId: order.id,
          placer: 'ada@northwind.example',
        }),
      );

      expect(stepsOf(paused)).toEqual(['order.paused']);
      expect(actorsOf(paused)).toEqual(['{"type":"system"}']);
      expect(stepsOf(resumed)).toEqual(['order.resumed']);
      expect(actorsOf(resumed)).toEqual(['{"type":"operator"}']);
    });
  });

  it('a run abroad of an order for later starts when it is due', async () => {
    const payer = await given.account(1, '1000000');
    const recipientID = await recipientAbroad(given.service, ada, CREDITED);
    const startAt = '2040-03-01T09:00:00Z';
    const input = {
      ...given.order(payer, recipientID),
      amount,
      purposeCode: 'IR001',
      type: 'scheduled',
      startAt,
    } as const;
    const order = (await given.service.placeOrder(ada, input)).resource;
    const events = await given.eventsOf(async () => {
      await world.owner.query(`update work set due_at = now() where kind = 'execution' and subject_id = $1`, [
        order.edges.executions![0]!.id,
      ]);
      await given.work();
    });

    expect(stepsOf(events)).toEqual(
      expect.arrayContaining(['execution.started scheduled>pending', 'execution.completed pending>completed']),
    );
  });
});
