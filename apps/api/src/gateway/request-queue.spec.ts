import * as fc from 'fast-check';
import type { Refusal, UserId } from '@banking/domain';
import { CONCURRENT_MAX, RequestQueue } from './request-queue.js';

const WAIT_MAX_MS = 2_000;
const PAUSE_MS = 1_000;
const HOSTILE = 1;
const POLITE = 2;
const range = (length: number) => Array.from({ length }, (_, index) => index);

/** A queue to an upstream whose responses the spec triggers. */
function queueTo() {
  const queue = new RequestQueue(WAIT_MAX_MS);
  /** How to respond to each request that was sent and has no response. */
  const sent: { readonly actor: number; readonly hasWaited: boolean; answer(): void }[] = [];
  const ended: { readonly actor: number; readonly how: string }[] = [];
  let started = 0;
  const send = (actor: number, limitKey = 'reads', signal = new AbortController().signal) => {
    const begin = (hasWaited: boolean) =>
      new Promise<void>((answer) => {
        started += 1;
        sent.push({ actor, hasWaited, answer });
      });
    return queue.run({ actor: actor as UserId, limitKey }, signal, begin).then(
      () => void ended.push({ actor, how: 'answered' }),
      ({ reason, retryAfterSeconds }: Refusal) => void ended.push({ actor, how: `${reason} ${retryAfterSeconds}` }),
    );
  };
  const countOf = (list: readonly { readonly actor: number }[], actor: number) =>
    list.filter((one) => one.actor === actor).length;
  return {
    queue,
    send,
    sent,
    ended,
    get started() {
      return started;
    },
    sentBy: (actor: number) => countOf(sent, actor),
    endedBy: (actor: number, how: string) =>
      countOf(
        ended.filter((one) => one.how === how),
        actor,
      ),
    /** Responds to the request that was sent at this position, and waits until that has taken effect. */
    async answer(at = 0): Promise<void> {
      sent.splice(at, 1)[0]?.answer();
      await settled();
    },
  };
}

/** Waits until all settled promises have taken effect. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('RequestQueue', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  });
  afterEach(() => jest.useRealTimers());

  it('gives one caller at most half of the slots for running and for waiting', async () => {
    const { send, sentBy, endedBy } = queueTo();
    for (let turn = 0; turn < 1_000; turn += 1) void send(HOSTILE);
    await settled();

    expect(sentBy(HOSTILE)).toBe(CONCURRENT_MAX / 2);
    expect(endedBy(HOSTILE, 'rate_limited 1')).toBe(1_000 - 32 - 128);
  });

  it('sends a request at once while another caller has a thousand in the queue', async () => {
    const { send, sentBy } = queueTo();
    for (let turn = 0; turn < 1_000; turn += 1) void send(HOSTILE);
    void send(POLITE);
    await settled();

    expect(sentBy(POLITE)).toBe(1);
  });

  it('never sends more requests than there are connections', async () => {
    const { send, sent } = queueTo();
    for (const actor of range(300)) for (let turn = 0; turn < 5; turn += 1) void send(actor);
    await settled();

    expect(sent).toHaveLength(CONCURRENT_MAX);
  });

  it('sends one request of each caller before a second one of any', async () => {
    const batches = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(batches, async (wanted) => {
        const { send, sent, answer } = queueTo();
        for (const actor of range(CONCURRENT_MAX)) void send(1_000 + actor);
        wanted.forEach((requests, actor) => range(requests).forEach(() => void send(actor)));
        await settled();
        const turns = wanted.flatMap((requests, actor) => range(requests).map((turn) => ({ actor, turn })));
        const inTurn = turns.sort((one, other) => one.turn - other.turn || one.actor - other.actor);

        // One connection becomes free repeatedly.
        await answer(0);
        const order: (number | undefined)[] = [];
        for (let turn = 0; turn < turns.length; turn += 1) {
          order.push(sent.at(-1)?.actor);
          await answer(sent.length - 1);
        }
        expect(order).toEqual(inTurn.map(({ actor }) => actor));
      }),
      { numRuns: 50 },
    );
  });

  it('delays another caller by one response at most when all connections are in use', async () => {
    const { send, sentBy, answer } = queueTo();
    for (const actor of range(CONCURRENT_MAX)) void send(10 + actor);
    for (const actor of range(5)) for (let turn = 0; turn < 100; turn += 1) void send(10 + actor);
    void send(POLITE);
    await settled();
    expect(sentBy(POLITE)).toBe(0);

    // Five callers are before it, with one request each.
    for (let turn = 0; turn < 6; turn += 1) await answer();
    expect(sentBy(POLITE)).toBe(1);
  });

  it('refuses a request that waited too long, and does not send it later', async () => {
    const seen = queueTo();
    for (let turn = 0; turn < 40; turn += 1) void seen.send(HOSTILE);
    await settled();
    expect(seen.endedBy(HOSTILE, 'unavailable 1')).toBe(0);
    jest.advanceTimersByTime(WAIT_MAX_MS);
    await settled();
    expect(seen.endedBy(HOSTILE, 'unavailable 1')).toBe(8);

    while (seen.sent.length > 0) await seen.answer();
    expect(seen.started).toBe(32);
    expect(seen.endedBy(HOSTILE, 'answered')).toBe(32);
  });

  it('removes a waiting request whose caller aborts, and frees its slot', async () => {
    const seen = queueTo();
    const gone = new AbortController();
    for (let turn = 0; turn < 32; turn += 1) void seen.send(HOSTILE);
    for (let turn = 0; turn < 128; turn += 1) void seen.send(HOSTILE, 'reads', gone.signal);
    void seen.send(HOSTILE);
    await settled();
    expect(seen.endedBy(HOSTILE, 'rate_limited 1')).toBe(1);
    gone.abort();
    await settled();
    expect(seen.endedBy(HOSTILE, 'unavailable 1')).toBe(128);

    void seen.send(HOSTILE);
    await settled();
    expect(seen.endedBy(HOSTILE, 'rate_limited 1')).toBe(1);
    while (seen.sent.length > 0) await seen.answer();
    expect(seen.started).toBe(33);
  });

  it('reports for each request whether it waited', async () => {
    const { send, sent, answer } = queueTo();
    for (let turn = 0; turn < 33; turn += 1) void send(HOSTILE);
    await settled();
    await answer();

    expect(sent.map(({ hasWaited }) => hasWaited)).toEqual([...range(31).map(() => false), true]);
  });

  it('frees the slot of a request that fails', async () => {
    const queue = new RequestQueue(WAIT_MAX_MS);
    const { signal } = new AbortController();
    const fail = () =>
      queue.run({ actor: 1 as UserId, limitKey: '' }, signal, () => Promise.reject(new Error('broken')));
    for (let turn = 0; turn < 100; turn += 1) await expect(fail()).rejects.toThrow('broken');
  });

  it('pauses only the requests of a rate-limited key, for a second, and then continues round-robin', async () => {
    const { queue, send, sent, sentBy } = queueTo();
    queue.pause('reads');
    for (let turn = 0; turn < 100; turn += 1) void send(HOSTILE);
    for (let turn = 0; turn < 2; turn += 1) void send(POLITE);
    void send(HOSTILE, 'changes');
    await settled();
    expect([sentBy(HOSTILE), sentBy(POLITE)]).toEqual([1, 0]);

    jest.advanceTimersByTime(PAUSE_MS - 1);
    queue.pause('reads');
    await settled();
    expect(sent).toHaveLength(1);
    jest.advanceTimersByTime(1);
    await settled();
    expect(sent.slice(1, 5).map(({ actor }) => actor)).toEqual([HOSTILE, POLITE, HOSTILE, POLITE]);
  });

  it('holds requests for a second and until the work with precedence ends, even if it fails', async () => {
    const { queue, send, sent } = queueTo();
    let end: (error?: Error) => void = () => undefined;
    let hasBegun: boolean;
    const work = () => {
      hasBegun = true;
      return new Promise<void>((resolve, reject) => (end = (error) => (error ? reject(error) : resolve())));
    };
    for (const error of [undefined, new Error('no')]) {
      hasBegun = false;
      const held = queue.holdDuring(work).catch((thrown: Error) => thrown.message);
      void send(POLITE);
      jest.advanceTimersByTime(PAUSE_MS - 1);
      await settled();
      expect([hasBegun, sent.length]).toEqual([false, 0]);
      jest.advanceTimersByTime(1);
      await settled();
      expect([hasBegun, sent.length]).toEqual([true, 0]);
      end(error);
      expect(await held).toBe(error?.message);
      await settled();
      expect(sent).toHaveLength(1);
      sent.pop()?.answer();
      await settled();
    }
  });
});
