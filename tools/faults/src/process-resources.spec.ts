import { growthOf } from './process-resources.js';

const MIB = 1024 * 1024;

/** A sample every ten seconds for a number of minutes: much growth in the first five, then as given. */
const life = (pid: number, minutes: number, mibPerMinute: number, handlesPerMinute = 0) =>
  Array.from({ length: minutes * 6 }, (_, index) => {
    const after = Math.max(0, index / 6 - 5);
    const warmUp = Math.min(index / 6, 5) * 20;
    return {
      ...{ process: 'api-0', pid, atMs: index * 10_000 },
      rssBytes: (100 + warmUp + after * mibPerMinute) * MIB,
      handles: 30 + Math.floor(after * handlesPerMinute),
    };
  });

describe('growth of a process', () => {
  it('is measured after the first five minutes', () => {
    expect(growthOf(life(1, 15, 0.9, 0.5))).toEqual({ measured: 1, violations: [] });
  });

  it('is a violation above one MiB a minute', () => {
    const { violations } = growthOf(life(1, 15, 1.1));

    expect(violations).toEqual([{ check: 'growth', detail: expect.stringContaining('1.10 MiB of memory a minute') }]);
  });

  it('is a violation if files stay open', () => {
    expect(growthOf(life(1, 15, 0, 2)).violations).toMatchObject([{ check: 'growth' }]);
  });

  it('is not measured for a process that ran for less than eight minutes', () => {
    expect(growthOf([...life(1, 7, 50), ...life(2, 6, 50)])).toEqual({ measured: 0, violations: [] });
  });
});
