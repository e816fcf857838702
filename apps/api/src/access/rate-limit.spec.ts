import * as fc from 'fast-check';
import { Refusal } from '@banking/domain';
import { orderLimit, RateLimit, requestLimit, requestsOfPage } from './rate-limit.js';

/** A limit with a clock that the test sets, and its response headers. */
function world(policy?: ReturnType<typeof orderLimit>) {
  const time = { nowMs: 0 };
  const limit = new RateLimit(policy, () => time.nowMs);
  const take = (key: string, sent: Record<string, unknown> = {}, count?: number) => {
    const reply = {
      header: (name: string, value: unknown) => Object.assign(sent, { [name]: value }),
      getHeader: (name: string) => sent[name],
    };
    try {
      limit.take(reply as never, key, count);
      return { taken: true, sent };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { taken: false, sent, reason: error.reason, retryAfterSeconds: error.retryAfterSeconds };
    }
  };
  return { time, take, giveBack: (key: string) => limit.giveBack(key) };
}

describe('RateLimit of two requests a second', () => {
  it('accepts the requests of two seconds at once, refuses the next with a time, and does not affect other keys', () => {
    const { take, time } = world(requestLimit(2));

    expect([take('ada'), take('ada'), take('ada'), take('ada')].map(({ taken }) => taken)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(take('ada')).toEqual({
      taken: false,
      sent: { 'RateLimit-Policy': '"user";q=4;w=2', RateLimit: '"user";r=0;t=2' },
      reason: 'rate_limited',
      retryAfterSeconds: 1,
    });
    expect(take('bob').taken).toBe(true);
    time.nowMs += 500;
    expect([take('ada').taken, take('ada').taken]).toEqual([true, false]);
  });

  it('counts a page as one request for each started hundred of its rows, and as a burst at most', () => {
    const { take, time } = world(requestLimit(2));
    const rows = [0, 1, 100, 101, 500];

    expect(rows.map(requestsOfPage)).toEqual([1, 1, 1, 2, 5]);
    expect(take('ada', {}, 3)).toMatchObject({ taken: true, sent: { RateLimit: '"user";r=1;t=2' } });
    expect(take('ada', {}, 3)).toMatchObject({ taken: false, retryAfterSeconds: 1 });
    expect(take('ada').taken).toBe(true);
    expect(take('ada', {}, 500)).toMatchObject({ taken: false, retryAfterSeconds: 2 });
    time.nowMs += 2_000;
    expect(take('ada', {}, 500).taken).toBe(true);
  });

  it('never accepts more requests than the policy allows', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 400 })),
        (perSecond, pausesMs) => {
          const { take, time } = world(requestLimit(perSecond));
          let taken = 0;
          for (const pauseMs of pausesMs) {
            time.nowMs += pauseMs;
            if (take('ada').taken) taken += 1;
          }
          return taken <= perSecond * 2 + (time.nowMs / 1000) * perSecond + 1e-6;
        },
      ),
    );
  });

  it('reports how many requests are left, and when the burst is complete again', () => {
    const { take } = world(requestLimit(2));

    expect(take('ada').sent).toEqual({ 'RateLimit-Policy': '"user";q=4;w=2', RateLimit: '"user";r=3;t=1' });
  });

  it('appends its headers to those of another limit', () => {
    const sent = { 'RateLimit-Policy': '"other";q=1;w=1', RateLimit: '"other";r=0;t=1' };

    expect(world(requestLimit(2)).take('ada', sent).sent).toEqual({
      'RateLimit-Policy': '"other";q=1;w=1, "user";q=4;w=2',
      RateLimit: '"other";r=0;t=1, "user";r=3;t=1',
    });
  });

  it('accepts every request and sets no headers without a policy', () => {
    const { take, giveBack } = world();

    expect(take('ada')).toEqual({ taken: true, sent: {} });
    giveBack('ada');
    expect(take('ada')).toEqual({ taken: true, sent: {} });
  });

  it('reads the time of the process without a clock', () => {
    const limit = new RateLimit(requestLimit(1));

    expect(() => limit.take({ header: () => undefined, getHeader: () => undefined } as never, 'ada')).not.toThrow();
  });
});

describe('RateLimit of sixty orders a minute', () => {
  it('accepts twenty at once and then one a second', () => {
    const { take, time } = world(orderLimit(60));

    const burst = Array.from({ length: 21 }, () => take('7').taken);

    expect(burst.filter(Boolean)).toHaveLength(20);
    expect(take('7')).toMatchObject({
      taken: false,
      sent: { 'RateLimit-Policy': '"orders";q=20;w=20', RateLimit: '"orders";r=0;t=20' },
      retryAfterSeconds: 1,
    });
    time.nowMs += 1_000;
    expect([take('7').taken, take('7').taken]).toEqual([true, false]);
  });

  it('reports the time until the next order', () => {
    const { take, time } = world(orderLimit(3));
    take('7');
    expect(take('7').retryAfterSeconds).toBe(20);
    time.nowMs += 15_000;

    expect(take('7').retryAfterSeconds).toBe(5);
  });

  it('accepts one more for a returned token', () => {
    const { take, giveBack } = world(orderLimit(60));
    for (let order = 0; order < 20; order += 1) take('7');
    giveBack('7');

    expect([take('7').taken, take('7').taken]).toEqual([true, false]);
  });

  it('accepts one more for each returned token, up to the burst', () => {
    const { take, giveBack } = world(orderLimit(3));

    expect([take('7').taken, take('7').taken]).toEqual([true, false]);
    giveBack('7');
    giveBack('7');
    expect([take('7').taken, take('7').taken]).toEqual([true, false]);
  });
});

describe('RateLimit of many keys', () => {
  const takeOthers = (take: (key: string) => unknown, count: number) => {
    for (let other = 0; other < count; other += 1) take(`other ${other}`);
  };

  it('counts ten thousand keys', () => {
    const { take } = world(orderLimit(3));
    take('7');
    takeOthers(take, 9_999);

    expect(take('7').taken).toBe(false);
  });

  it('removes the count of the least recently used of more', () => {
    const { take } = world(orderLimit(3));
    take('7');
    take('8');
    take('7');
    takeOthers(take, 9_999);

    expect([take('7').taken, take('8').taken]).toEqual([false, true]);
  });
});
