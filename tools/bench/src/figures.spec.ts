import { figuresOf, isReached } from './figures.js';
import type { Comparison } from './request.js';

const measured = (perSecond: number, p50Ms = 1, p99Ms = 2) => ({ perSecond, p50Ms, p99Ms });

const comparison: Comparison = {
  name: 'Orders',
  control: 'a minimal function',
  aim: 0.5,
  perSecondAim: 600,
  p99AimMs: 30,
  pairs: [
    { ours: measured(500, 1, 40), control: measured(1_000, 4) },
    { ours: measured(900, 1, 10), control: measured(1_000, 4) },
    { ours: measured(700, 1, 20), control: measured(1_000, 4) },
  ],
};

const figures = (compared: Comparison) => figuresOf({ comparisons: [compared], residentMb: undefined });

describe('the figures of a comparison', () => {
  it('are the ratio, the rate and the p99, each with its aim', () => {
    const [ratio, rate, p99, ...others] = figures(comparison);

    expect(ratio).toMatchObject({ unit: 'ratio', value: 0.7, min: 0.5, max: 0.9, aim: 0.5, isAtMost: false });
    expect(ratio).toMatchObject({ perSecond: { ours: 700, control: 1_000 }, isCharted: true });
    expect(rate).toMatchObject({ unit: 'per second', value: 700, aim: 600, isAtMost: false, isCharted: false });
    expect(p99).toMatchObject({ name: 'Orders, p99', unit: 'ms', value: 20, aim: 30, isAtMost: true });
    expect(others).toEqual([]);
  });

  it('have the highest allowed time as aim where times are compared, and no bar', () => {
    const [time] = figures({ ...comparison, compares: 'p50Ms' });

    expect(time).toMatchObject({ name: 'Orders, median time', value: 0.25, isAtMost: true, isCharted: false });
    expect(time).not.toHaveProperty('perSecond');
  });

  it('have no bar if the comparison has none', () => {
    expect(figures({ ...comparison, isCharted: false })[0]?.isCharted).toBe(false);
  });

  it.each([
    [{ value: 0.5, aim: 0.5, isAtMost: false }, true],
    [{ value: 0.49, aim: 0.5, isAtMost: false }, false],
    [{ value: 30, aim: 30, isAtMost: true }, true],
    [{ value: 31, aim: 30, isAtMost: true }, false],
    [{ value: 31, isAtMost: true }, undefined],
  ])('reach or miss their aim: %j', (figure, reached) => {
    const rest = { name: 'Orders', unit: 'ms', min: 0, max: 0, isCharted: false } as const;

    expect(isReached({ ...rest, ...figure })).toBe(reached);
  });
});

describe('the figures of memory', () => {
  it('are the growth, the highest and the slope', () => {
    const marks = [10, 30, 50, 70, 90, 100].map((asked) => ({ asked, heapMb: 20 + asked / 100, residentMb: 100 }));
    const residence = { name: 'Api', everyMs: 1_000, samplesMb: [100, 300], highestAimMb: 260, slopeAimMbPerMinute: 1 };

    const found = figuresOf({
      comparisons: [],
      residentMb: 250,
      residentAimMb: 260,
      growths: [{ name: 'Client', marks, aimMb: 1 }],
      residences: [residence],
    });

    expect(found.map((figure) => [figure.name, isReached(figure)])).toEqual([
      ['Client', true],
      ['Api, highest', false],
      ['Api, slope', false],
      ['Resident memory under these loads, highest', true],
    ]);
  });
});
