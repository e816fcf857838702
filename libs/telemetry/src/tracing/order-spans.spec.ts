import { orderBatchChannel, orderChannel } from '@banking/operations';
import { recordedSpans } from '../testing/recorded-spans.js';
import { followOrders } from './channel-spans.js';

const order = () => ({ kind: 'placement', submittedAtMs: 0 }) as const;

describe('spans of orders', () => {
  const { spans, ended } = recordedSpans();
  beforeAll(() => followOrders(spans));
  afterAll(() => spans.unfollow());

  /** Submits an order within a span, and returns its end. */
  function submitted(caller: Parameters<typeof spans.run>[0], message: ReturnType<typeof order>) {
    let end: () => void = () => undefined;
    const outcome = new Promise<void>((resolve) => (end = resolve));
    const submission = spans.run(caller, () => orderChannel.tracePromise(() => outcome, message));
    return () => {
      end();
      return submission;
    };
  }

  const batchOf = (orders: readonly ReturnType<typeof order>[], work: () => Promise<unknown>) =>
    orderBatchChannel.tracePromise(work, { orders, waitMs: 7.4, strategy: 'common' });

  it('link a batch to its recorded orders, whichever caller has begun it', async () => {
    const [recorded, other, off] = [order(), order(), order()];
    const [first, second] = [spans.startRoot('first', {}), spans.startRoot('second', {})];
    const ends = [
      submitted(first, recorded),
      submitted(second, other),
      submitted(recordedSpans('always_off').spans.startRoot('off', {}), off),
    ];
    let active: string | undefined;

    await spans.run(first, () =>
      batchOf([recorded, other, off], async () => {
        active = spans.active?.spanContext().spanId;
      }),
    );
    await Promise.all(ends.map((end) => end()));

    const [batch] = ended().filter(({ name }) => name === 'order batch');
    const orders = ended().filter(({ name }) => name === 'order placement');
    expect(orders.map(({ parentId }) => parentId)).toEqual([first.spanContext().spanId, second.spanContext().spanId]);
    expect(batch).toMatchObject({
      parentId: undefined,
      spanId: active,
      links: orders.map(({ spanId }) => spanId),
      attributes: { 'banking.batch.size': 3, 'banking.batch.strategy': 'common', 'banking.batch.wait_ms': 7 },
    });
    expect(orders.map(({ links }) => links)).toEqual([[batch?.spanId], [batch?.spanId]]);
  });

  it('make none for a batch without a recorded order, which runs outside of the caller that has begun it', async () => {
    const before = ended().length;
    let isActive = true;

    await spans.run(spans.startRoot('first', {}), () =>
      batchOf([order()], async () => {
        isActive = spans.active !== undefined;
      }),
    );

    expect(isActive).toBe(false);
    expect(ended()).toHaveLength(before);
  });
});
