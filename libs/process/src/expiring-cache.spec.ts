import * as fc from 'fast-check';
import { ExpiringCache, type ExpiringCacheOptions } from './expiring-cache.js';

let nowMs: number;
let loads: number;

beforeEach(() => {
  nowMs = 0;
  loads = 0;
});

const load = async () => ++loads;
const fail = async () => {
  loads += 1;
  throw new Error('unreachable');
};
function deferred() {
  let resolve: (value: number) => void = () => undefined;
  const promise = new Promise<number>((settle) => (resolve = settle));
  return { promise, resolve };
}
const cacheOf = (options: Partial<ExpiringCacheOptions<number>> = {}) =>
  new ExpiringCache<number>({ entriesMax: 10, ttlMs: 1_000, nowMs: () => nowMs, ...options });

describe('ExpiringCache', () => {
  it('loads once for concurrent calls with one key', async () => {
    const cache = cacheOf();

    const values = await Promise.all(Array.from({ length: 50 }, () => cache.get('ada', load)));

    expect(new Set(values)).toEqual(new Set([1]));
  });

  it('shares a load that takes longer than the time to live', async () => {
    const cache = cacheOf();
    const { promise, resolve } = deferred();
    const first = cache.get('ada', () => promise);
    nowMs = 5_000;
    const second = cache.get('ada', load);
    resolve(7);

    expect(await Promise.all([first, second])).toEqual([7, 7]);
    expect(cache.size).toBe(0);
  });

  it('loads again when the time to live has passed since the start of the load', async () => {
    const cache = cacheOf();
    const slow = cache.get('ada', async () => {
      nowMs = 300;
      return load();
    });

    expect(await slow).toBe(1);
    nowMs = 999;
    expect(await cache.get('ada', load)).toBe(1);
    nowMs = 1_000;
    expect(cache.peek('ada')).toBeUndefined();
    expect(await cache.get('ada', load)).toBe(2);
  });

  it('takes the time to live from the value', async () => {
    const cache = cacheOf({ ttlMs: (value) => value * 100 });

    expect(await cache.get('ada', load)).toBe(1);
    nowMs = 99;
    expect(await cache.get('ada', load)).toBe(1);
    nowMs = 100;
    expect(await cache.get('ada', load)).toBe(2);
  });

  it('does not store a failure by default', async () => {
    const cache = cacheOf();

    await expect(cache.get('ada', fail)).rejects.toThrow('unreachable');
    expect(await cache.get('ada', load)).toBe(2);
  });

  it('returns a failure without another load for its time to live', async () => {
    const cache = cacheOf({ failureTtlMs: 500 });

    await expect(cache.get('ada', fail)).rejects.toThrow('unreachable');
    nowMs = 499;
    await expect(cache.get('ada', load)).rejects.toThrow('unreachable');
    expect(loads).toBe(1);
    expect(cache.peek('ada')).toBeUndefined();
    nowMs = 500;
    expect(await cache.get('ada', load)).toBe(2);
  });

  it('replaces a valid value on refresh', async () => {
    const cache = cacheOf();
    await cache.get('ada', load);

    expect(await cache.refresh('ada', load)).toBe(2);
    expect(cache.peek('ada')).toBe(2);
  });

  it('keeps the result of the latest load when an earlier load ends after it', async () => {
    const cache = cacheOf();
    const { promise, resolve } = deferred();
    const early = cache.get('ada', () => promise);
    await cache.refresh('ada', load);
    resolve(7);

    expect(await early).toBe(7);
    expect(await cache.get('ada', load)).toBe(1);
  });

  it('stores at most the given number of results, each under its key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 30 })), async (keys) => {
        const cache = cacheOf({ entriesMax: 5 });
        for (const key of keys) {
          expect(await cache.get(String(key), async () => key)).toBe(key);
          expect(cache.size).toBeLessThanOrEqual(5);
        }
      }),
    );
  });

  it('removes the least recently used result first', async () => {
    const cache = cacheOf({ entriesMax: 2 });
    await cache.get('ada', load);
    await cache.get('bob', load);
    await cache.get('ada', load);
    await cache.get('eve', load);

    expect([cache.peek('ada'), cache.peek('bob'), cache.peek('eve')]).toEqual([1, undefined, 3]);
  });
});
