import { type AccountId, type Created, type Order, Refusal, type WorkspaceId } from '@banking/domain';
import { OrderLimit } from './order-limit.js';

const ADA = { workspaceId: 7 as WorkspaceId, accountId: 1 as AccountId, body: { amount: '1', type: 'instant' } };
const order = (isReplay = false) => Promise.resolve({ resource: {} as Order, isReplay } satisfies Created<Order>);

/** A limit whose clock stands still, and whether it lets an order through. */
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

describe('Given a workspace that has placed as many orders as it may', () => {
  it('When it asks again for one of them, Then it is answered, and for another it is not', async () => {
    const { isPlaced } = world(6);

    expect(await isPlaced({ ...ADA, idempotencyKey: 'one' })).toBe(true);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'two' })).toBe(true);

    expect(await isPlaced({ ...ADA, idempotencyKey: 'three' })).toBe(false);
    expect(await isPlaced(ADA)).toBe(false);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'one' }, () => order(true))).toBe(true);
    expect(await isPlaced({ ...ADA, accountId: 2 as AccountId, idempotencyKey: 'one' })).toBe(false);
  });

  it('When another workspace places one, Then it may', async () => {
    const { isPlaced } = world(3);

    expect([await isPlaced(ADA), await isPlaced(ADA)]).toEqual([true, false]);
    expect(await isPlaced({ ...ADA, workspaceId: 8 as WorkspaceId })).toBe(true);
  });
});

describe('Given an order that another process has placed', () => {
  it('When it is asked for again here, Then it is not counted', async () => {
    const { isPlaced } = world(3);

    expect(await isPlaced({ ...ADA, idempotencyKey: 'theirs' }, () => order(true))).toBe(true);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'mine' })).toBe(true);
  });
});

describe('Given an order that is refused', () => {
  it('When it is sent again with its key, Then it counts again: nothing was placed', async () => {
    const { isPlaced } = world(3);
    const refused = () => Promise.reject(new Refusal('insufficient_funds'));

    await expect(isPlaced({ ...ADA, idempotencyKey: 'mine' }, refused)).rejects.toThrow(Refusal);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'mine' })).toBe(false);
  });
});

describe('Given a key that another order was placed with', () => {
  it('counts every attempt to reuse it, and refuses them without a look at the books once none is left', async () => {
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

  it('does not count the same order with its fields in another order', async () => {
    const { isPlaced } = world(3);
    expect(await isPlaced({ ...ADA, idempotencyKey: 'one' })).toBe(true);

    const again = { ...ADA, idempotencyKey: 'one', body: { type: 'instant', amount: '1' } };

    expect(await isPlaced(again, () => order(true))).toBe(true);
  });
});
