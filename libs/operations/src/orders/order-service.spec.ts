import { until } from '@banking/postgres/testing';
import { LOCKED, order, range, RUN, slowBatcher, turn } from '../testing/order-world.js';
import {
  orderBatchChannel,
  type OrderBatchMessage,
  orderChannel,
  type OrderMessage,
  type PreparedOrder,
} from './prepared-order.js';

/** Far more than the batches of a spec. */
const TURNS_MAX = 1_000;

describe('orders that arrive during a commit', () => {
  it('are the next batch, and no batch runs beside it', async () => {
    const { batcher, batches } = slowBatcher();
    const first = batcher.submit(order(1));
    await turn();
    const others = range(3).map(() => batcher.submit(order(1)));
    await turn();
    expect(batches.map(({ of }) => of.length)).toEqual([1]);

    batches[0]?.finish();
    await first;
    await turn();

    expect(batches.map(({ of }) => of.length)).toEqual([1, 3]);
    batches[1]?.finish();
    expect(await Promise.all(others)).toEqual([RUN, RUN, RUN]);
  });

  it('share a batch with the one order of another workspace', async () => {
    const { batcher, batches } = slowBatcher();
    const many = range(200).map(() => batcher.submit(order(1)));
    const one = batcher.submit(order(2));
    await turn();

    expect(batches[0]?.of).toHaveLength(64);
    expect(batches[0]?.of).toContain('2/1');

    for (let turns = 0; batches.length < 4 && turns < TURNS_MAX; turns += 1) {
      batches.at(-1)?.finish();
      await turn();
      await turn();
    }
    batches.at(-1)?.finish();
    expect(await Promise.all([one, ...many])).toHaveLength(201);
  });

  it('are refused if too many wait, and accepted again afterwards', async () => {
    const { batcher, batches } = slowBatcher();
    const first = range(1_000).map(() => batcher.submit(order(1)));

    await expect(batcher.submit(order(1))).rejects.toMatchObject({ reason: 'unavailable', retryAfterSeconds: 1 });
    const second = range(1_000).map((at) => batcher.submit(order(2 + (at % 2))));
    await expect(batcher.submit(order(4))).rejects.toMatchObject({ reason: 'unavailable' });

    const all = Promise.all([...first, ...second]);
    let isOver = false;
    void all.then(() => (isOver = true));
    for (let turns = 0; !isOver && turns < TURNS_MAX; turns += 1) {
      batches.at(-1)?.finish();
      await turn();
    }
    const again = batcher.submit(order(1));
    await turn();
    batches.at(-1)?.finish();
    expect(await again).toEqual(RUN);
  });

  it('are carried out after a batch that failed', async () => {
    const { batcher, batches } = slowBatcher();
    const failing = range(2).map(() => batcher.submit(order(1)));
    await turn();
    const next = batcher.submit(order(1));
    batches[0]?.fail(new Error('gone'));

    expect(await Promise.all(failing)).toEqual(range(2).map(() => ({ kind: 'failed', error: new Error('gone') })));
    await turn();
    batches[1]?.finish();
    expect(await next).toEqual(RUN);
  });
});

describe('an account that another session has locked', () => {
  const locked = ({ accountId }: PreparedOrder, waits: boolean) => (accountId === 9 && !waits ? LOCKED : RUN);

  it('has its orders wait beside the batches, in their order', async () => {
    const { batcher, batches } = slowBatcher(locked);
    const early = [batcher.submit(order(1, 9)), batcher.submit(order(1, 1)), batcher.submit(order(1, 9))];
    await turn();
    batches[0]?.finish();
    await early[1];
    await turn();
    const late = [batcher.submit(order(1, 9)), batcher.submit(order(1, 1))];
    await turn();

    expect(batches.map(({ of, waits }) => [of.join(' '), waits])).toEqual([
      ['1/9 1/1 1/9', false],
      ['1/9 1/9', true],
      ['1/1', false],
    ]);
    batches[2]?.finish();
    await late[1];
    batches[1]?.finish();
    await turn();

    expect(batches.slice(3).map(({ of, waits }) => [of.join(' '), waits])).toEqual([['1/9', true]]);
    batches[3]?.finish();
    await Promise.all([...early, ...late]);

    const after = batcher.submit(order(1, 9));
    await turn();
    expect(batches.at(-1)).toMatchObject({ of: ['1/9'], waits: false });
    batches.at(-1)?.finish();
    await turn();
    batches.at(-1)?.finish();
    await after;
  });

  it('has its turn beside two busy contended accounts', async () => {
    const { batcher, batches } = slowBatcher((_, waits) => (waits ? RUN : LOCKED));
    const busy = (account: number) => range(70).map(() => batcher.submit(order(1, account)));
    const all = [...busy(1), ...busy(2)];
    const third = batcher.submit(order(1, 3));
    let isDone = false;
    void third.then(() => (isDone = true));

    for (let round = 0; round < 12 && !isDone; round += 1) {
      all.push(batcher.submit(order(1, 1)), batcher.submit(order(1, 2)));
      batches.forEach(({ finish }) => finish());
      await turn();
    }

    expect(isDone).toBe(true);
    for (let round = 0; round < 20; round += 1) {
      batches.forEach(({ finish }) => finish());
      await turn();
    }
    expect(await Promise.all(all)).toHaveLength(all.length);
  });

  it('has its turn beside a workspace with many contended accounts', async () => {
    const { batcher, batches } = slowBatcher((_, waits) => (waits ? RUN : LOCKED));
    const all = [...range(20).map((at) => batcher.submit(order(1, at + 1))), batcher.submit(order(2, 99))];
    await turn();
    batches[0]?.finish();
    await turn();
    batches[1]?.finish();
    batches[2]?.finish();
    await turn();

    expect(batches.slice(1, 5).map(({ of }) => of.join())).toContain('2/99');
    for (let round = 0; round < 20; round += 1) {
      batches.forEach(({ finish }) => finish());
      await turn();
    }
    expect(await Promise.all(all)).toHaveLength(21);
  });

  it('has its turn if more accounts are locked than connections may wait for', async () => {
    const { batcher, batches } = slowBatcher((_, waits) => (waits ? RUN : LOCKED));
    const all = [1, 2, 3].map((account) => batcher.submit(order(1, account)));
    await turn();
    batches[0]?.finish();
    await turn();

    expect(batches.slice(1).map(({ of }) => of.join())).toEqual(['1/1', '1/2']);
    batches[1]?.finish();
    await turn();
    expect(batches.slice(1).map(({ of }) => of.join())).toEqual(['1/1', '1/2', '1/3']);
    batches[2]?.finish();
    batches[3]?.finish();
    expect(await Promise.all(all)).toEqual([RUN, RUN, RUN]);
  });
});

describe('an order whose caller aborts', () => {
  const REASON = new Error('too late');

  it('is in no batch if it still waits', async () => {
    const { batcher, batches } = slowBatcher();
    const first = batcher.submit(order(1));
    await turn();
    const control = new AbortController();
    const withdrawn = batcher.submit(order(1, 7), control.signal);
    const next = batcher.submit(order(1, 8));

    control.abort(REASON);
    await expect(withdrawn).rejects.toBe(REASON);
    batches[0]?.finish();
    await first;
    await turn();

    expect(batches[1]?.of).toEqual(['1/8']);
    batches[1]?.finish();
    expect(await next).toEqual(RUN);
  });

  it('is in no batch if its signal is aborted when it is asked, and has sent no event before', async () => {
    const { batcher, batches } = slowBatcher();
    const first = batcher.submit(order(1));
    await turn();
    const control = new AbortController();
    let isLate = false;
    Object.defineProperty(control.signal, 'aborted', { get: () => (isLate && control.abort(REASON), isLate) });
    const withdrawn = batcher.submit(order(1, 7), control.signal);
    const next = batcher.submit(order(1, 8));

    isLate = true;
    batches[0]?.finish();
    await first;
    await expect(withdrawn).rejects.toBe(REASON);
    await turn();

    expect(batches[1]?.of).toEqual(['1/8']);
    batches[1]?.finish();
    expect(await next).toEqual(RUN);
  });

  it('is in no batch if it waits for a contended account', async () => {
    const { batcher, batches } = slowBatcher((_, waits) => (waits ? RUN : LOCKED));
    const control = new AbortController();
    const [first, withdrawn] = [batcher.submit(order(1)), batcher.submit(order(1), control.signal)];
    await turn();
    batches[0]?.finish();
    control.abort(REASON);
    await expect(withdrawn).rejects.toBe(REASON);
    await turn();

    expect(batches[1]).toMatchObject({ of: ['1/1'], waits: true });
    batches[1]?.finish();
    expect(await first).toEqual(RUN);
  });

  it('has its outcome if its batch is running', async () => {
    const { batcher, batches } = slowBatcher();
    const control = new AbortController();
    const one = batcher.submit(order(1), control.signal);
    await turn();

    control.abort(REASON);
    batches[0]?.finish();

    expect(await one).toEqual(RUN);
  });

  it('is not queued if the caller aborted before', async () => {
    const { batcher, batches } = slowBatcher();

    await expect(batcher.submit(order(1), AbortSignal.abort(REASON))).rejects.toBe(REASON);
    await turn();

    expect(batches).toEqual([]);
  });
});

describe('orders of a workspace with limits', () => {
  const limited = (workspaceId: number, accountId: number): PreparedOrder => ({
    ...order(workspaceId, accountId),
    terms: { convertedAmounts: [] } as never,
  });

  it('wait together for limits that another session has locked', async () => {
    const { batcher, batches } = slowBatcher(({ workspaceId }, waits) =>
      workspaceId === 1 && !waits ? { kind: 'locked', by: 'limits' } : RUN,
    );
    const early = [limited(1, 1), limited(1, 2), limited(2, 3)].map((one) => batcher.submit(one));
    await turn();
    batches[0]?.finish();
    await early[2];
    await turn();
    const late = [limited(1, 4), limited(2, 3)].map((one) => batcher.submit(one));
    await turn();

    expect(batches.map(({ of, waits }) => [of.join(' '), waits])).toEqual([
      ['1/1 2/3 1/2', false],
      ['1/1 1/2', true],
      ['2/3', false],
    ]);
    batches.slice(1).forEach(({ finish }) => finish());
    await turn();
    await turn();
    expect(batches.slice(3).map(({ of, waits }) => [of.join(' '), waits])).toEqual([['1/4', true]]);
    batches[3]?.finish();
    expect(await Promise.all([...early, ...late])).toHaveLength(5);
  });

  it('are not in two running batches', async () => {
    const { batcher, batches, slowDown } = slowBatcher();
    await slowDown();
    const orders = [batcher.submit(limited(1, 1))];
    await turn();
    orders.push(...[limited(1, 2), limited(2, 3)].map((one) => batcher.submit(one)));

    batches[0]?.commit();
    await turn();

    expect(batches.map(({ of }) => of)).toEqual([['1/1'], ['2/3']]);
    batches[1]?.commit();
    batches[0]?.finish();
    await turn();
    expect(batches.map(({ of }) => of)[2]).toEqual(['1/2']);
    batches.slice(1).forEach(({ finish }) => finish());
    expect(await Promise.all(orders)).toEqual([RUN, RUN, RUN]);
  });
});

describe('orders that arrive during a slow commit', () => {
  it('are decided while the batch before them is committed, but for those of its accounts', async () => {
    const { batcher, batches, slowDown } = slowBatcher();
    await slowDown();
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
    const { batcher, batches, slowDown } = slowBatcher();
    await slowDown();
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

  it('do not overtake an order of their account that waits for its payee', async () => {
    const { batcher, batches, slowDown } = slowBatcher();
    await slowDown();
    const orders = [batcher.submit(order(1, 1, 9))];
    await turn();
    orders.push(batcher.submit(order(1, 2, 9)), batcher.submit(order(1, 2, 8)), batcher.submit(order(1, 3)));

    batches[0]?.commit();
    await turn();

    expect(batches.map(({ of }) => of)).toEqual([['1/1'], ['1/3']]);
    batches[1]?.commit();
    batches[0]?.finish();
    await turn();
    expect(batches.map(({ of }) => of)[2]).toEqual(['1/2', '1/2']);
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
    const { batcher, batches, slowDown } = slowBatcher();
    await slowDown();
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

  it('wait for its end as soon as commits are quick again', async () => {
    const { batcher, batches, slowDown } = slowBatcher();
    await slowDown();
    const next = async () => {
      const one = batcher.submit(order(1));
      await turn();
      batches.at(-1)!.commit();
      batches.at(-1)!.finish();
      await one;
      await turn();
    };
    for (let commit = 0; commit < 50; commit += 1) await next();

    const orders = [batcher.submit(order(1, 1))];
    await turn();
    batches.at(-1)!.commit();
    orders.push(batcher.submit(order(1, 2)));
    await turn();

    expect(batches).toHaveLength(51);
    batches.at(-1)!.finish();
    await turn();
    expect(batches).toHaveLength(52);
    batches.at(-1)!.finish();
    expect(await Promise.all(orders)).toEqual([RUN, RUN]);
  });
});

describe('the channels of orders', () => {
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
