import { until } from '@banking/postgres/testing';
import { LOCKED, order, range, RUN, slowBatcher, turn } from '../testing/order-world.js';
import { orderBatchChannel, type OrderBatchMessage, orderChannel, type OrderMessage } from './prepared-order.js';

let orders: OrderMessage[];
let batches: OrderBatchMessage[];
const onOrder = (message: unknown) => void orders.push(message as OrderMessage);
const onBatch = (message: unknown) => void batches.push(message as OrderBatchMessage);

beforeEach(() => {
  [orders, batches] = [[], []];
  orderChannel.start.subscribe(onOrder);
  orderBatchChannel.asyncEnd.subscribe(onBatch);
});
afterEach(() => {
  orderChannel.start.unsubscribe(onOrder);
  orderBatchChannel.asyncEnd.unsubscribe(onBatch);
});

describe('the channels of orders', () => {
  it('publish a batch with the orders that it has, and how long the first of them has waited', async () => {
    const { batcher, batches: running } = slowBatcher();
    const now = jest.spyOn(performance, 'now').mockReturnValue(1_000);
    const submitted = range(2).map(() => batcher.submit(order(1)));
    now.mockReturnValue(1_250);
    await turn();
    now.mockRestore();
    running[0]?.finish();
    await Promise.all(submitted);

    expect(batches).toEqual([{ orders, waitMs: 250, strategy: 'common', result: [RUN, RUN] }]);
    expect(batches[0]!.orders[0]).toBe(orders[0]);
    expect(orders[1]).toMatchObject({ kind: 'placement', submittedAtMs: 1_000, result: RUN });
  });

  it('publish the batch of a contended account', async () => {
    const { batcher, batches: running } = slowBatcher((_, waits) => (waits ? RUN : LOCKED));
    const submitted = batcher.submit(order(1));
    await turn();
    running[0]?.finish();
    await until(() => running.length >= 2);
    running[1]?.finish();
    await submitted;

    expect(batches).toMatchObject([
      { strategy: 'common', result: [LOCKED] },
      { strategy: 'contended', result: [RUN] },
    ]);
  });

  it('publish no message for an order that was submitted without a subscriber', async () => {
    orderChannel.start.unsubscribe(onOrder);
    orderBatchChannel.asyncEnd.unsubscribe(onBatch);
    const { batcher, batches: running } = slowBatcher();
    const submitted = batcher.submit(order(1));
    orderBatchChannel.asyncEnd.subscribe(onBatch);
    await turn();
    running[0]?.finish();
    await submitted;

    expect(batches).toMatchObject([{ orders: [], waitMs: 0 }]);
  });
});
