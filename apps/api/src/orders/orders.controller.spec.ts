import { type AccountId, type Created, type Order, Refusal, type WorkspaceId } from '@banking/domain';
import { OrderLimit } from '../access/rate-limit.js';
import { openTestApp, type TestApp } from '../testing/test-app.js';
import { OrdersModule } from './orders.controller.js';

describe('OrdersController', () => {
  const ORDER = { id: 5, amount: '250000', status: 'completed', type: 'instant', edges: {} };
  const INPUT = { amount: '250000', recipientID: 2, type: 'instant' };

  const banking = {
    placeOrder: jest.fn(),
  };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(OrdersModule, banking, { orderLimit: { perMinute: 3 } });
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('refuses an order above the limit per minute of the configuration', async () => {
    banking.placeOrder.mockImplementation(async () => ({ resource: ORDER, isReplay: false }));
    const statuses = [];
    for (let attempt = 0; attempt < 4; attempt++) {
      statuses.push((await app.send('POST /accounts/1/orders', { ...INPUT, description: `${attempt}` })).status);
    }

    expect(statuses.at(-1)).toBe(429);
  });
});

describe('OrderLimit', () => {
  const ADA = { workspaceId: 7 as WorkspaceId, accountId: 1 as AccountId, body: { amount: '1', type: 'instant' } };
  const order = (isReplay = false) => Promise.resolve({ resource: {} as Order, isReplay } satisfies Created<Order>);

  /** A limit with a clock that stands still. */
  function world(perMinute: number) {
    const limit = new OrderLimit(perMinute, () => 0);
    const reply = { header: () => reply as never, getHeader: () => undefined };
    const isPlaced = (attempt: Parameters<OrderLimit['count']>[1], place = () => order()) =>
      limit.count(reply, attempt, place).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Refusal && error.reason === 'rate_limited') return false;
          throw error;
        },
      );
    return { isPlaced };
  }

  it('refuses a new order above the limit, and lets a replay pass', async () => {
    const { isPlaced } = world(6);

    expect(await isPlaced({ ...ADA, idempotencyKey: 'one' })).toBe(true);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'two' })).toBe(true);

    expect(await isPlaced({ ...ADA, idempotencyKey: 'three' })).toBe(false);
    expect(await isPlaced(ADA)).toBe(false);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'one' }, () => order(true))).toBe(true);
    expect(await isPlaced({ ...ADA, accountId: 2 as AccountId, idempotencyKey: 'one' })).toBe(false);
  });

  it('counts each workspace separately', async () => {
    const { isPlaced } = world(3);

    expect([await isPlaced(ADA), await isPlaced(ADA)]).toEqual([true, false]);
    expect(await isPlaced({ ...ADA, workspaceId: 8 as WorkspaceId })).toBe(true);
  });

  it('does not count a replay of an order that another process placed', async () => {
    const { isPlaced } = world(3);

    expect(await isPlaced({ ...ADA, idempotencyKey: 'theirs' }, () => order(true))).toBe(true);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'mine' })).toBe(true);
  });

  it('counts a refused order again when it is repeated with its key', async () => {
    const { isPlaced } = world(3);
    const refused = () => Promise.reject(new Refusal('insufficient_funds'));

    await expect(isPlaced({ ...ADA, idempotencyKey: 'mine' }, refused)).rejects.toThrow(Refusal);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'mine' })).toBe(false);
  });

  it('counts every attempt to reuse a key, and refuses them without a query when none is left', async () => {
    const { isPlaced } = world(9);
    const reused = jest.fn(() => Promise.reject(new Refusal('idempotency_key_reused')));
    const other = { ...ADA, idempotencyKey: 'one', body: { ...ADA.body, amount: '2' } };
    expect(await isPlaced({ ...ADA, idempotencyKey: 'one' })).toBe(true);

    await expect(isPlaced(other, reused)).rejects.toThrow(Refusal);
    await expect(isPlaced(other, reused)).rejects.toThrow(Refusal);

    expect(await isPlaced(other, reused)).toBe(false);
    expect(reused).toHaveBeenCalledTimes(2);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'two' })).toBe(false);
  });

  it('does not count a replay with its fields in another sequence', async () => {
    const { isPlaced } = world(3);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'one' })).toBe(true);

    const again = { ...ADA, idempotencyKey: 'one', body: { type: 'instant', amount: '1' } };

    expect(await isPlaced(again, () => order(true))).toBe(true);
  });
});
