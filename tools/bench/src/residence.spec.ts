import { growthOf } from './residence.js';

const residence = (samplesMb: readonly number[], everyMs = 1_000) => ({
  name: 'Memory',
  everyMs,
  samplesMb,
  highestAimMb: 260,
  slopeAimMbPerMinute: 1,
});

describe('the growth of resident memory', () => {
  it('is a slope per minute and the highest sample', () => {
    const samples = Array.from({ length: 100 }, (_, second) => 100 + second / 60);

    const { highestMb, slopeMbPerMinute } = growthOf(residence(samples));

    expect(highestMb).toBeCloseTo(100 + 99 / 60);
    expect(slopeMbPerMinute).toBeCloseTo(1);
  });

  it('leaves out the first three tenths for the slope', () => {
    const { highestMb, slopeMbPerMinute } = growthOf(residence([10, 20, 300, ...Array<number>(7).fill(200)]));

    expect(highestMb).toBe(300);
    expect(slopeMbPerMinute).toBe(0);
  });

  it('takes the interval of the samples into account', () => {
    expect(growthOf(residence([1, 2, 3, 4, 5, 6], 30_000)).slopeMbPerMinute).toBeCloseTo(2);
  });

  it('is flat for one sample', () => {
    expect(growthOf(residence([150]))).toEqual({ highestMb: 150, slopeMbPerMinute: 0 });
  });
});
