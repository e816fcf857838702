import type { Account, Order, RecipientId } from '@banking/domain';
import { recordAudit } from '../audit/record-audit.js';
import { amountOf, crossingWorld, type CrossingWorld } from '../testing/crossing-world.js';
import type { CrossingPort } from './crossings.js';

let at: CrossingWorld;
let from: Account;
let to: Account;
let recipient: RecipientId;
let year = 2040;

beforeAll(async () => {
  at = await crossingWorld();
});
afterAll(() => at.close());
beforeEach(async () => {
  [from, to] = [await at.payer(100_000n), await at.payee()];
  recipient = await at.recipientFor(to);
});
afterEach(() => {
  expect(at.errors.splice(0)).toEqual([]);
});

const statesOf = (order: Order) => order.edges.executions!.map(({ status }) => status);
const read = (order: Order) => at.paying.getOrder(at.scope, { accountId: from.id, orderId: order.id });
const setStatus = (status: 'enabled' | 'disabled') => at.paid.changeAccount(at.scope, { accountId: to.id, status });
const movementsOf = async (account: Account, service = at.paid) =>
  (await service.listTransfers(at.scope, { accountId: account.id })).items.map(
    ({ amount, direction, type, description }) => [`${direction} ${amount}`, type, description],
  );

describe('a recipient with an account in another database', () => {
  it('is added with its currency, of which the other database is asked only for an unknown code', async () => {
    const code = to.code!;
    const key = { idempotencyKey: `recipient-${code}` };
    const add = () => at.paying.addInternalRecipient(at.scope, { accountCode: code }, key);
    const first = await add();
    at.asked.splice(0);

    expect(await add()).toEqual({ ...first, isReplay: true });
    await at.paying.addInternalRecipient(at.scope, { accountCode: from.code! });
    expect(at.asked).toEqual([]);
  });

  it('is refused as before if no database has the code', async () => {
    const unknown = at.paying.addInternalRecipient(at.scope, { accountCode: 'NOSUCHACCOUNT' });

    await expect(unknown).rejects.toMatchObject({
      reason: 'recipient_invalid',
      details: [{ path: '/accountCode', reason: 'account_unknown' }],
    });
  });
});

describe('a payment to an account of another database', () => {
  it('is pending until it has arrived, then completed', async () => {
    const order = await at.order(from.id, recipient, { description: 'Invoice 7' });

    expect([order.status, statesOf(order)]).toEqual(['completed', ['pending']]);
    expect(await at.balanceOf(at.paying, from.id)).toBe(99_900n);
    expect(await movementsOf(to)).toEqual([]);
    await at.settle();
    expect(statesOf(await read(order))).toEqual(['completed']);
    expect(await movementsOf(to)).toEqual([['credit 100', 'internal', 'Invoice 7']]);
    expect(await at.work()).toEqual([]);
  });

  it('comes back if the account takes no money, and the reason tells nothing of its state', async () => {
    const order = await at.order(from.id, recipient, { description: 'Invoice 8' });
    await setStatus('disabled');
    await at.settle();
    await setStatus('enabled');
    await at.settle();

    const [execution] = (await read(order)).edges.executions!;
    expect(execution).toMatchObject({
      status: 'failed',
      failureCode: 'payout_rejected',
      failureMessage: 'The account of the recipient takes no such payment, and the money has come back.',
      edges: { transaction: { status: 'failed', returnedBy: expect.any(Number) as number } },
    });
    expect(await at.balanceOf(at.paying, from.id)).toBe(100_000n);
    expect((await movementsOf(from, at.paying))[0]).toEqual(['credit 100', 'return', 'Returned: Invoice 8']);
    expect(await movementsOf(to)).toEqual([]);
    expect((await at.crossings()).at(-1)).toMatchObject({ status: 'returned', arrivals: ['refused'] });
  });

  it('has an entry of the service in the audit trail, whether it arrives or comes back', async () => {
    const arrived = await at.order(from.id, recipient);
    await at.settle();
    const returned = await at.order(from.id, recipient);
    await setStatus('disabled');
    await at.settle();
    await setStatus('enabled');
    while ((await recordAudit(at.payers.world.database)) > 0);

    const { items } = await at.paying.listAuditEvents(at.scope);
    const idOf = ({ edges }: Order) => edges.executions![0]!.edges.transaction!.id;
    const ofTransactions = items.filter(({ resource }) => resource?.type === 'transaction');
    expect(ofTransactions.slice(0, 2)).toMatchObject([
      { operation: 'failTransaction', resource: { id: idOf(returned) }, actor: { type: 'system' } },
      { operation: 'completeTransaction', resource: { id: idOf(arrived) }, actor: { type: 'system' } },
    ]);
  });

  it('comes back to an account that was disabled', async () => {
    await at.order(from.id, recipient);
    await setStatus('disabled');
    await at.paying.changeAccount(at.scope, { accountId: from.id, status: 'disabled' });

    await at.settle();

    expect(await at.balanceOf(at.paying, from.id)).toBe(100_000n);
  });

  it('is converted at the rate of its quote, and the conversion is reversed if it comes back', async () => {
    const dollars = await at.payer(100_000n, 2);
    const quoted = async () =>
      (
        await at.paying.createQuote(at.scope, {
          accountID: dollars.id,
          recipientID: recipient,
          amount: amountOf(10_000),
        })
      ).resource;
    const pay = (quoteID: number) =>
      at.order(dollars.id, recipient, { amount: amountOf(10_000), quoteID: quoteID as never });
    const first = await quoted();
    await pay(first.id);
    await at.settle();
    const arrived = await at.balanceOf(at.paid, to.id);
    expect(arrived.toString()).toBe(first.targetAmount);
    expect(await movementsOf(to)).toEqual([[`credit ${arrived}`, 'spot', undefined]]);
    const before = await at.balanceOf(at.paying, dollars.id);

    await pay((await quoted()).id);
    await setStatus('disabled');
    await at.settle();

    expect(await at.balanceOf(at.paying, dollars.id)).toBe(before);
    expect(await at.balanceOf(at.paid, to.id)).toBe(arrived);
  });

  it('has no tracking, so an event of a network is refused', async () => {
    const { edges } = await at.order(from.id, recipient);
    const { id: transactionId } = edges.executions![0]!.edges.transaction!;

    const event = at.paying.addTransactionEvent(at.scope, { transactionId, status: 'ACCC' });

    await expect(event).rejects.toMatchObject({ reason: 'transaction_not_found' });
    expect(edges.executions![0]!.edges.transaction!.edges).not.toHaveProperty('internationalRemittance');
    await at.settle();
  });

  it('has the same stored response before and after it arrives', async () => {
    const key = { idempotencyKey: `order-${from.id}` };
    const input = { accountId: from.id, recipientID: recipient, amount: amountOf(100), type: 'instant' } as const;
    const { resource } = await at.paying.placeOrder(at.scope, input, key);
    const replay = async () => JSON.stringify((await at.paying.placeOrder(at.scope, input, key)).resource);

    expect(await replay()).toBe(JSON.stringify(resource));
    await at.settle();
    expect(await replay()).toBe(JSON.stringify(resource));
    expect((await at.crossings()).filter(({ status }) => status === 'due')).toEqual([]);
  });

  it('runs by its schedule, fails the runs that come back, and pauses the order after three of them', async () => {
    year += 1;
    const march = (day: number) => `${year}-03-0${day}T09:00:00Z`;
    const order = await at.order(from.id, recipient, {
      type: 'recurring',
      repeatUnit: 'daily',
      repeatValue: 1,
      startAt: march(1),
    });
    const day = async (number: number) => {
      await at.paying.moveClock(at.scope, { now: march(number) });
      await at.settle();
      return statesOf(await read(order));
    };

    expect(await day(1)).toEqual(['completed', 'scheduled']);
    await setStatus('disabled');
    for (const number of [2, 3, 4]) await day(number);
    expect(await day(5)).toEqual(['completed', 'failed', 'failed', 'failed', 'scheduled']);
    expect(await read(order)).toMatchObject({ status: 'active', pauseReason: 'payouts_rejected' });
    const cancelled = await at.paying.cancelOrder(at.scope, { accountId: from.id, orderId: order.id });
    expect(statesOf(cancelled).at(-1)).toBe('cancelled');
    expect(await at.balanceOf(at.paying, from.id)).toBe(99_900n);
  });
});

describe('an account whose workspace has moved to another database', () => {
  const SOUTH = 'Southwind Imports';
  const setState = (state: string) =>
    at.payers.world.owner.query('update cell_workspace set state = $2 where workspace_id = $1', [
      at.payers.world.demo.workspaces[SOUTH],
      state,
    ]);
  afterEach(() => setState('open'));

  it('is paid by a crossing, also by a process that has remembered its former place', async () => {
    const workspaceId = at.payers.world.demo.workspaces[SOUTH] as typeof at.scope.workspaceId;
    const { resource } = await at.paying.openAccount({ workspaceId }, { productID: 1 as never });
    const near = await at.recipientFor(resource);
    expect(statesOf(await at.order(from.id, near))).toEqual(['completed']);
    expect(statesOf(await at.order(from.id, near))).toEqual(['completed']);

    await setState('gone');

    expect(statesOf(await at.order(from.id, near))).toEqual(['pending']);
    expect(statesOf(await at.order(from.id, near))).toEqual(['pending']);
    const refused: CrossingPort = { arrive: () => Promise.resolve('refused') };
    await at.worker(refused).step();
    expect(await at.balanceOf(at.paying, from.id)).toBe(99_800n);
  });
});

describe('a database without others', () => {
  it('refuses a payment to an account that does not exist any more, and opens no crossing', async () => {
    const before = (await at.crossings()).length;
    await at.payers.world.owner.query(`
      set session_replication_role = replica;
      create table identity_of_spec as select * from cell_identity;
      delete from cell_identity;
      set session_replication_role = origin`);
    try {
      await expect(at.order(from.id, recipient)).rejects.toMatchObject({ reason: 'recipient_invalid' });
      expect(await at.crossings()).toHaveLength(before);
    } finally {
      await at.payers.world.owner.query('insert into cell_identity select * from identity_of_spec');
      await at.payers.world.owner.query('drop table identity_of_spec');
    }
  });
});
