import * as fc from 'fast-check';
import { Refusal } from '@banking/domain';
import { RateLimit } from './rate-limit.js';

/** A limit whose clock stands still until it is moved, and what it answers. */
function world(perSecond?: number) {
  const time = { nowMs: 0 };
  const limit = new RateLimit(perSecond, () => time.nowMs);
  const take = (key: string) => {
    const sent: Record<string, unknown> = {};
    const reply = { header: (name: string, value: unknown) => Object.assign(sent, { [name]: value }) };
    try {
      limit.take(reply as never, key);
      return { taken: true, sent };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { taken: false, sent, reason: error.reason, retryAfterSeconds: error.retryAfterSeconds };
    }
  };
  return { time, take };
}

describe('Given a limit of two requests a second', () => {
  it('When a burst comes, Then two seconds’ worth are let through, the next is told when, and nobody else is held up', () => {
    const { take, time } = world(2);

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

  it('When requests come at any times, Then never more are let through than rate and burst allow', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 400 })),
        (perSecond, pausesMs) => {
          const { take, time } = world(perSecond);
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

  it('When no limit is set, Then everything is let through and no header is sent', () => {
    expect(world().take('ada')).toEqual({ taken: true, sent: {} });
  });
});
