import type { Account, Order, RecipientId } from '@banking/domain';
import { crossingWorld, type CrossingWorld } from '../testing/crossing-world.js';

let at: CrossingWorld;
let [from, to]: Account[] = [];
let recipient: RecipientId;

beforeAll(async () => {
  at = await crossingWorld();
}, 60_000);
afterAll(() => at.close());
beforeEach(async () => {
  [from, to] = [await at.payer(100_000n), await at.payee()];
  recipient = await at.recipientFor(to);
});

const statesOf = (order: Order) => order.edges.executions!.map(({ status }) => status);
const read = (order: Order) => at.paying.getOrder(at.scope, { accountId: from!.id, orderId: order.id });
const settle = async () => {
  const worker = at.worker();
  while ((await worker.step()) > 0);
};

describe('a payment to an account of another database', () => {
  it('is pending until it has arrived, then completed', async () => {
    const order = await at.order(from!.id, recipient, { description: 'Invoice 7' });

    expect([order.status, statesOf(order)]).toEqual(['completed', ['pending']]);
    expect(await at.balanceOf(at.paying, from!.id)).toBe(99_900n);
    expect(await at.balanceOf(at.paid, to!.id)).toBe(0n);
    await settle();
    expect(statesOf(await read(order))).toEqual(['completed']);
    const { items } = await at.paid.listTransfers(at.scope, { accountId: to!.id });
    expect(items).toMatchObject([{ amount: '100', direction: 'credit', type: 'internal', description: 'Invoice 7' }]);
    expect(await at.work()).toEqual([]);
    expect(at.errors).toEqual([]);
  });
});
