import { type AccountId, type Order, type OrderId, type TransferAmount, type UserId } from '@banking/domain';
import { recordEvent, releaseParkedWork } from '@banking/payouts';
import { addGrant, addUser, removeGrant, resumePausedOrder } from '../provisioning/index.js';
import { actorsOf, type EventRow, eventWorld, stepsOf } from '../testing/event-world.js';
import { recipientAbroad } from '../testing/order-world.js';

let given: Awaited<ReturnType<typeof eventWorld>>;
let { world, ada } = {} as typeof given;

beforeAll(async () => {
  given = await eventWorld();
  ({ world, ada } = given);
});
afterAll(() => world.close());
afterEach(() => given.expectVerified());

const amount = '10000' as TransferAmount;

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
        `update payout set status = 'submitting' where (workspace_id, transaction_id) = ($1, $2)`,
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
    await addGrant(world.provisioning, 'ops', { workspaceId, email, role: 'member' });
    const { order } = await placeDaily(3, { workspaceId, actor: leaver });
    await removeGrant(world.provisioning, 'ops', { workspaceId, email });
    const paused = await given.eventsOf(async () => {
      await makeDue(order);
      await given.work();
    });
    const resumed = await given.eventsOf(() =>
      resumePausedOrder(
        world.database,
        { name: 'olga' },
        {
          workspaceId,
          orderId: order.id,
          placer: 'ada@northwind.example',
        },
      ),
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
