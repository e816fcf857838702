import { flushMs } from './tracing.js';

describe('the time for the last spans of a process that stops', () => {
  it.each([
    [15_000, 2_000],
    [2_500, 2_000],
    [1_200, 700],
    [500, 0],
    [-3_000, 0],
  ])('of %d milliseconds of the stop is %d', (leftMs, expected) => {
    expect(flushMs(leftMs)).toBe(expected);
  });

  it('is two seconds if nothing limits the stop', () => {
    expect(flushMs()).toBe(2_000);
  });
});
