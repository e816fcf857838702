import { OrderLane, type PostTogether } from './order-lane.js';
import type { OrderOutcome, ReadyOrder } from './post-orders.js';

const RUN: OrderOutcome = { kind: 'run' };
const LOCKED: OrderOutcome = { kind: 'locked' };

const order = (workspaceId: number, accountId = 1): ReadyOrder => ({ workspaceId, accountId, entries: [], sheet: () => ({}) }); // prettier-ignore
const range = (length: number) => Array.from({ length }, (_, index) => index);

/** A desk whose commits end when the spec says so. */
function slowDesk(outcomeOf: (order: ReadyOrder, waits: boolean) => OrderOutcome = () => RUN) {
  const batches: {
    readonly of: readonly string[];
    readonly waits: boolean;
    finish(): void;
    fail(error: Error): void;
  }[] = [];
  const post: PostTogether = (orders, waits) =>
    new Promise((resolve, reject) => {
      batches.push({
        of: orders.map(({ workspaceId, accountId }) => `${workspaceId}/${accountId}`),
        waits,
        finish: () => resolve(orders.map((one) => outcomeOf(one, waits))),
        fail: reject,
      });
    });
  return { lane: new OrderLane(post), batches };
}
/** Twice around: whoever starts in the next turn of the loop has started. */
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('Given orders that arrive while a commit is on its way', () => {
  it('When it ends, Then they are the next batch, and nothing runs beside it', async () => {
    const { lane, batches } = slowDesk();
    const first = lane.submit(order(1));
    await turn();
    const others = range(3).map(() => lane.submit(order(1)));
    await turn();
    expect(batches.map(({ of }) => of.length)).toEqual([1]);

    batches[0]?.finish();
    await first;
    await turn();

    expect(batches.map(({ of }) => of.length)).toEqual([1, 3]);
    batches[1]?.finish();
    expect(await Promise.all(others)).toEqual([RUN, RUN, RUN]);
  });

  it('When one workspace has hundreds, Then the one order of another is in the next batch all the same', async () => {
    const { lane, batches } = slowDesk();
    const many = range(200).map(() => lane.submit(order(1)));
    const one = lane.submit(order(2));
    await turn();

    expect(batches[0]?.of).toHaveLength(64);
    expect(batches[0]?.of).toContain('2/1');

    while (batches.length < 4) {
      batches.at(-1)?.finish();
      await turn();
      await turn();
    }
    batches.at(-1)?.finish();
    expect(await Promise.all([one, ...many])).toHaveLength(201);
  });

  it('When too many wait, Then the next are told to come again, and there is room again afterwards', async () => {
    const { lane, batches } = slowDesk();
    const first = range(1_000).map(() => lane.submit(order(1)));

    await expect(lane.submit(order(1))).rejects.toMatchObject({ reason: 'unavailable', retryAfterSeconds: 1 });
    const second = range(1_000).map((at) => lane.submit(order(2 + (at % 2))));
    await expect(lane.submit(order(4))).rejects.toMatchObject({ reason: 'unavailable' });

    const all = Promise.all([...first, ...second]);
    let isOver = false;
    void all.then(() => (isOver = true));
    while (!isOver) {
      batches.at(-1)?.finish();
      await turn();
    }
    const again = lane.submit(order(1));
    await turn();
    batches.at(-1)?.finish();
    expect(await again).toEqual(RUN);
  });

  it('When the database fails a batch, Then each of it is told, and the next goes on', async () => {
    const { lane, batches } = slowDesk();
    const failing = range(2).map(() => lane.submit(order(1)));
    await turn();
    const next = lane.submit(order(1));
    batches[0]?.fail(new Error('gone'));

    expect(await Promise.all(failing)).toEqual(range(2).map(() => ({ kind: 'failed', error: new Error('gone') })));
    await turn();
    batches[1]?.finish();
    expect(await next).toEqual(RUN);
  });
});

describe('Given an account that somebody else holds', () => {
  const held = ({ accountId }: ReadyOrder, waits: boolean) => (accountId === 9 && !waits ? LOCKED : RUN);

  it('When its orders leave their batch, Then they wait beside it in their order, with those that come after them', async () => {
    const { lane, batches } = slowDesk(held);
    const early = [lane.submit(order(1, 9)), lane.submit(order(1, 1)), lane.submit(order(1, 9))];
    await turn();
    batches[0]?.finish();
    await early[1];
    await turn();
    const late = [lane.submit(order(1, 9)), lane.submit(order(1, 1))];
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

    const after = lane.submit(order(1, 9));
    await turn();
    expect(batches.at(-1)).toMatchObject({ of: ['1/9'], waits: false });
    batches.at(-1)?.finish();
    await turn();
    batches.at(-1)?.finish();
    await after;
  });

  it('When two of them never run out of orders, Then the third has its turn all the same', async () => {
    const { lane, batches } = slowDesk((_, waits) => (waits ? RUN : LOCKED));
    const busy = (account: number) => range(70).map(() => lane.submit(order(1, account)));
    const all = [...busy(1), ...busy(2)];
    const third = lane.submit(order(1, 3));
    let isDone = false;
    void third.then(() => (isDone = true));

    for (let round = 0; round < 12 && !isDone; round += 1) {
      all.push(lane.submit(order(1, 1)), lane.submit(order(1, 2)));
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

  it('When a workspace has many contended accounts, Then the one of another workspace is next but one', async () => {
    const { lane, batches } = slowDesk((_, waits) => (waits ? RUN : LOCKED));
    const all = [...range(20).map((at) => lane.submit(order(1, at + 1))), lane.submit(order(2, 99))];
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

  it('When more accounts are held than may be waited for, Then they take turns', async () => {
    const { lane, batches } = slowDesk((_, waits) => (waits ? RUN : LOCKED));
    const all = [1, 2, 3].map((account) => lane.submit(order(1, account)));
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

describe('Given an order whose caller gives up', () => {
  const REASON = new Error('too late');

  it('When it still waits, Then it is withdrawn, and is in no batch', async () => {
    const { lane, batches } = slowDesk();
    const first = lane.submit(order(1));
    await turn();
    const control = new AbortController();
    const withdrawn = lane.submit(order(1, 7), control.signal);
    const next = lane.submit(order(1, 8));

    control.abort(REASON);
    await expect(withdrawn).rejects.toBe(REASON);
    batches[0]?.finish();
    await first;
    await turn();

    expect(batches[1]?.of).toEqual(['1/8']);
    batches[1]?.finish();
    expect(await next).toEqual(RUN);
  });

  it('When it waits for a contended account, Then it is withdrawn as well', async () => {
    const { lane, batches } = slowDesk((_, waits) => (waits ? RUN : LOCKED));
    const control = new AbortController();
    const [first, withdrawn] = [lane.submit(order(1)), lane.submit(order(1), control.signal)];
    await turn();
    batches[0]?.finish();
    control.abort(REASON);
    await expect(withdrawn).rejects.toBe(REASON);
    await turn();

    expect(batches[1]).toMatchObject({ of: ['1/1'], waits: true });
    batches[1]?.finish();
    expect(await first).toEqual(RUN);
  });

  it('When it is being carried out, Then it has its outcome', async () => {
    const { lane, batches } = slowDesk();
    const control = new AbortController();
    const one = lane.submit(order(1), control.signal);
    await turn();

    control.abort(REASON);
    batches[0]?.finish();

    expect(await one).toEqual(RUN);
  });

  it('When it had given up before, Then it is not even taken', async () => {
    const { lane, batches } = slowDesk();

    await expect(lane.submit(order(1), AbortSignal.abort(REASON))).rejects.toBe(REASON);
    await turn();

    expect(batches).toEqual([]);
  });
});
