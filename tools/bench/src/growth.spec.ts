import { growing, settledGrowthOf } from './growth.js';

/** A process that keeps so many megabytes for good, and so many of each request. */
async function watched(times: number, megabytes: { atFirst: number; each: number }) {
  const told: number[] = [];
  let asked = 0;
  const marks = await growing(
    times,
    async (more) => {
      told.push(more);
      asked += more;
    },
    async () => ({ heapMb: (asked > 0 ? megabytes.atFirst : 0) + asked * megabytes.each, residentMb: 100 }),
  );
  return { told, growth: { name: 'it', marks, aimMb: 1 } };
}

describe('memory growth', () => {
  it('divides the calls into tenths', async () => {
    expect((await watched(200_000, { atFirst: 0, each: 0 })).told).toEqual([
      20_000, 40_000, 40_000, 40_000, 40_000, 20_000,
    ]);
    expect((await watched(7, { atFirst: 0, each: 0 })).told.reduce((sum, more) => sum + more)).toBe(7);
  });

  it('excludes the memory that the first calls fill', async () => {
    const { growth } = await watched(1_000, { atFirst: 50, each: 2 / 1024 / 1024 });

    const { fromAsked, toAsked, grownMb, bytesEach } = settledGrowthOf(growth);

    expect([fromAsked, toAsked]).toEqual([300, 1_000]);
    expect(bytesEach).toBeCloseTo(2);
    expect(grownMb).toBeCloseTo((2 * 700) / 1024 / 1024);
  });

  it('fails for a single call', async () => {
    const { growth } = await watched(1, { atFirst: 0, each: 1 });

    expect(() => settledGrowthOf(growth)).toThrow('nothing was asked');
  });
});
