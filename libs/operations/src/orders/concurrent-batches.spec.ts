import { LOCKED, order, range, RUN, slowBatcher, turn } from '../testing/order-world.js';

describe('orders that arrive during a batch', () => {
  it('are decided while the batch before them is committed, but for those of its accounts', async () => {
    const { batcher, batches } = slowBatcher();
    const orders = [batcher.submit(order(1, 1))];
    await turn();
    orders.push(batcher.submit(order(1, 1)), batcher.submit(order(1, 2)), batcher.submit(order(2, 3)));
    await turn();
    expect(batches.map(({ of }) => of)).toEqual([['1/1']]);

    batches[0]?.commit();
    await turn();

    expect(batches.map(({ of }) => of)).toEqual([['1/1'], ['1/2', '2/3']]);
    batches[0]?.finish();
    batches[1]?.commit();
    await turn();
    expect(batches.map(({ of }) => of).slice(2)).toEqual([['1/1']]);
    batches.slice(1).forEach(({ finish }) => finish());
    expect(await Promise.all(orders)).toEqual([RUN, RUN, RUN, RUN]);
  });

  it('wait for the batch that has their payee', async () => {
    const { batcher, batches } = slowBatcher();
    const orders = [batcher.submit(order(1, 1, 9))];
    await turn();
    orders.push(batcher.submit(order(1, 2, 9)), batcher.submit(order(1, 9)), batcher.submit(order(1, 3)));

    batches[0]?.commit();
    await turn();

    expect(batches.map(({ of }) => of)).toEqual([['1/1'], ['1/3']]);
    batches[1]?.commit();
    batches[0]?.finish();
    await turn();
    expect(batches.map(({ of }) => of)[2]).toEqual(['1/2', '1/9']);
    batches.slice(1).forEach(({ finish }) => finish());
    expect(await Promise.all(orders)).toEqual([RUN, RUN, RUN, RUN]);
  });

  it('follow the orders of their account that wait for its lock', async () => {
    const { batcher, batches } = slowBatcher((_, waits) => (waits ? RUN : LOCKED));
    const orders = [batcher.submit(order(1, 1))];
    await turn();
    orders.push(batcher.submit(order(1, 1)));
    await turn();

    batches[0]?.finish();
    await turn();

    expect(batches.map(({ of, waits }) => ({ of, waits }))).toEqual([
      { of: ['1/1'], waits: false },
      { of: ['1/1', '1/1'], waits: true },
    ]);
    batches[1]?.finish();
    expect(await Promise.all(orders)).toEqual([RUN, RUN]);
  });

  it('wait while two batches are committed', async () => {
    const { batcher, batches } = slowBatcher();
    const orders = range(3).map((at) => batcher.submit(order(1, at)).then(() => at));
    await turn();
    orders.push(batcher.submit(order(2)).then(() => 3));
    batches[0]?.commit();
    await turn();
    orders.push(batcher.submit(order(3)).then(() => 4));
    batches[1]?.commit();
    await turn();
    expect(batches.map(({ of }) => of.length)).toEqual([3, 1]);

    batches[0]?.finish();
    await turn();

    expect(batches.map(({ of }) => of)).toEqual([['1/0', '1/1', '1/2'], ['2/1'], ['3/1']]);
    batches.slice(1).forEach(({ finish }) => finish());
    expect(await Promise.all(orders)).toEqual([0, 1, 2, 3, 4]);
  });
});
