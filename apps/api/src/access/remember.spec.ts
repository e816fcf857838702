import * as fc from 'fast-check';
import { Remember } from './remember.js';

describe('Given answers remembered for a moment', () => {
  const clock = () => {
    const time = { nowMs: 0 };
    return { time, now: () => time.nowMs };
  };

  it('When many ask at once, Then one question is asked', async () => {
    const remember = new Remember<number>(1_000, 10);
    let asked = 0;
    const ask = async () => ++asked;

    const answers = await Promise.all(Array.from({ length: 50 }, () => remember.get('ada', ask)));

    expect(new Set(answers)).toEqual(new Set([1]));
  });

  it('When time has passed, or the answer itself has ended, Then it is asked anew', async () => {
    const { time, now } = clock();
    const remember = new Remember<number>(1_000, 10, now);
    let asked = 0;
    const ask = async () => ++asked;

    expect(await remember.get('ada', ask)).toBe(1);
    time.nowMs = 999;
    expect(await remember.get('ada', ask)).toBe(1);
    time.nowMs = 1_000;
    expect(await remember.get('ada', ask, () => 1_500)).toBe(2);
    time.nowMs = 1_500;
    expect(await remember.get('ada', ask)).toBe(3);
  });

  it('When asking fails, Then the failure is not remembered', async () => {
    const remember = new Remember<number>(1_000, 10);

    await expect(remember.get('ada', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await remember.get('ada', async () => 7)).toBe(7);
  });

  it('When keys come in any order, Then never more are held than allowed, and every answer is its key’s', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 30 })), async (keys) => {
        const remember = new Remember<number>(1_000, 5);
        for (const key of keys) {
          expect(await remember.get(String(key), async () => key)).toBe(key);
          expect(remember.size).toBeLessThanOrEqual(5);
        }
      }),
    );
  });
});
