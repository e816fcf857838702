import * as fc from 'fast-check';
import { backoffMs } from './backoff.js';

const POLICY = { minMs: 100, firstMs: 2_000, maxMs: 900_000 };

describe('backoffMs', () => {
  it('doubles the bound with every failure, up to the maximum', () => {
    const delays = [1, 2, 3, 8, 9, 10, 10_000].map((failures) => backoffMs(POLICY, failures, 0.5));

    expect(delays).toEqual([1_000, 2_000, 4_000, 128_000, 256_000, 450_000, 450_000]);
  });

  it('spreads the delay over everything from the minimum to the bound', () => {
    expect([0, 0.25, 0.999].map((random) => backoffMs(POLICY, 5, random))).toEqual([100, 8_000, 31_968]);
  });

  it('stays between the minimum and the maximum for every failure count', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), random, (failures, drawn) => {
        const delayMs = backoffMs(POLICY, failures, drawn);
        return Number.isInteger(delayMs) && delayMs >= POLICY.minMs && delayMs <= POLICY.maxMs;
      }),
    );
  });
});
