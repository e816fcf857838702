import { until } from '@banking/postgres/testing';
import { Reference } from '../reference/reference.js';
import { ORDER, type OrderFacts } from '../resources/compose-order.js';
import { LOCKED, order, range, RUN, slowBatcher, turn } from '../testing/order-world.js';
import { orderRecord, responseOf } from './order-writes.js';
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

/** Written by the first program with this version. A stored record is replayed for thirty days, so later programs read it. */
const RECORD =
  '[1,7,[11,"5000","completed","instant","Rent","IR001",null,null,null,null,null,null,null,"ref-1",{"a":"b"},"2026-11-22 09:30:00.5+00",' +
  '"2026-11-22 09:30:00.5+00",[[12,1,"pending","2026-11-22 09:30:00.5+00","2026-11-22 09:30:00.5+00",null,null,' +
  '[13,"pending","aa",null,null,"2026-11-22 09:30:00.5+00","2026-11-22 09:30:00.5+00",' +
  '[[14,"5000","Rent","debit","payout","IR001","100","2026-11-22 09:30:00.5+00","94900",null]]],' +
  '[15,"2026-11-22 09:30:00.5+00","2026-11-22 09:30:00.5+00",null]]],' +
  '1,"Main","enabled","CACC",null,"DE1","2026-11-21 08:00:00+00","2026-11-21 08:00:00+00",14,"94900","2026-11-22 09:30:00.5+00",978,1,' +
  '2,"Grace","DE89370400440532013000",null,true,"2026-11-21 08:00:00+00","2026-11-21 08:00:00+00",978,true,null,null,null,null,null]]';

const AT = '2026-11-22T09:30:00.500000Z';
const BEFORE = '2026-11-21T08:00:00.000000Z';
const EURO = { id: 978, code: 'EUR', name: 'Euro', decimals: 2, createdAt: BEFORE, updatedAt: BEFORE };

const CURRENT_ACCOUNT = {
  id: 1,
  name: 'Current account',
  createdAt: BEFORE,
  updatedAt: BEFORE,
  edges: { currency: EURO },
};

const TIMES = ['2026-11-21 08:00:00+00', '2026-11-21 08:00:00+00'];

const REFERENCE = new Reference(7n, [
  [[978, 'EUR', 'Euro', null, 2, null, ...TIMES]],
  [[1, 'Current account', null, 978, ...TIMES]],
  [],
]);

const ACCOUNT = {
  id: 1,
  name: 'Main',
  status: 'enabled',
  type: 'CACC',
  code: 'DE1',
  createdAt: BEFORE,
  updatedAt: BEFORE,
  edges: {
    balances: [{ id: 14, amount: 94_900, createdAt: AT, updatedAt: AT }],
    currency: EURO,
    product: CURRENT_ACCOUNT,
  },
};

const RESPONSE = {
  id: 11,
  amount: '5000',
  status: 'completed',
  type: 'instant',
  description: 'Rent',
  purposeCode: 'IR001',
  externalReference: 'ref-1',
  metadata: { a: 'b' },
  createdAt: AT,
  updatedAt: AT,
  edges: {
    account: ACCOUNT,
    recipient: {
      id: 2,
      name: 'Grace',
      accountCode: 'DE89370400440532013000',
      saved: true,
      createdAt: BEFORE,
      updatedAt: BEFORE,
      edges: { currency: EURO },
    },
    executions: [
      {
        id: 12,
        sequence: 1,
        status: 'pending',
        scheduledAt: AT,
        executedAt: AT,
        edges: {
          transaction: {
            id: 13,
            status: 'pending',
            hash: 'aa',
            orderID: 11,
            createdAt: AT,
            updatedAt: AT,
            edges: {
              internationalRemittance: { id: 15, createdAt: AT, updatedAt: AT, edges: { events: [] } },
              transfers: [
                {
                  id: 14,
                  amount: '5000',
                  description: 'Rent',
                  direction: 'debit',
                  type: 'payout',
                  purpose: 'IR001',
                  feeAmount: '100',
                  createdAt: AT,
                  updatedAt: AT,
                  edges: { account: ACCOUNT, balance: { id: 14, amount: 94_900, createdAt: AT, updatedAt: AT } },
                },
              ],
            },
          },
        },
      },
    ],
  },
};

const reference = {
  ofVersion: (version: bigint) => {
    expect(version).toBe(7n);
    return Promise.resolve(REFERENCE);
  },
};

describe('the record of a response', () => {
  it('is composed to the same bytes by every later program', async () => {
    expect(JSON.stringify(await responseOf(reference, RECORD))).toBe(JSON.stringify(RESPONSE));
  });

  it('has the placer of the order if it was written with one', async () => {
    const [version, referenceVersion, values] = JSON.parse(RECORD) as [number, number, unknown[]];
    const record = JSON.stringify([version, referenceVersion, [...values, 4, null]]);

    expect(await responseOf(reference, record)).toEqual({ ...RESPONSE, placedBy: 4 });
  });

  it('of a version to come is not read', async () => {
    await expect(responseOf(reference, '[2,7,[]]')).rejects.toThrow('a record of a response has the unknown version 2');
  });

  it('has a place for every fact', () => {
    const facts = { orderId: 11n } as OrderFacts;
    const [, , values] = JSON.parse(orderRecord(7n, facts)) as [number, number, unknown[]];
    const quoted = ORDER.columns.split(' as "').length - 1;
    expect(ORDER.columns).toMatch(/ as executions$/);
    expect(values).toHaveLength(quoted + 1);
  });
});
