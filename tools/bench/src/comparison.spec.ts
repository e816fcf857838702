import * as fc from 'fast-check';
import { inPairs, ratiosOf, spreadOf } from './comparison.js';

const figures = fc.array(fc.double({ min: 0.001, max: 1_000_000, noNaN: true }), { minLength: 1, maxLength: 40 });

describe('Given figures of several rounds', () => {
  it('When their spread is taken, Then as many lie above its middle as below, and none outside', () => {
    fc.assert(
      fc.property(figures, (values) => {
        const { median, min, max } = spreadOf(values);
        const above = values.filter((value) => value > median).length;
        const below = values.filter((value) => value < median).length;
        expect(Math.max(above, below)).toBeLessThanOrEqual(values.length / 2);
        expect(values.every((value) => min <= value && value <= max)).toBe(true);
        expect(min <= median && median <= max).toBe(true);
      }),
    );
  });

  it.each([
    [[3], 3],
    [[1, 2], 1.5],
    [[9, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
  ])('When %j is measured, Then the middle is %d', (values, median) => {
    expect(spreadOf(values).median).toBe(median);
  });

  it('When nothing was measured, Then there is no spread', () => {
    expect(() => spreadOf([])).toThrow('nothing was measured');
  });

  it('When both sides get slower together, Then the ratio of no round changes', () => {
    fc.assert(
      fc.property(figures, (slowness) => {
        const { min, max } = ratiosOf(
          slowness.map((factor) => ({ ours: 3 * factor, control: 4 * factor })),
          (side) => side,
        );
        expect(min).toBeCloseTo(0.75);
        expect(max).toBeCloseTo(0.75);
      }),
    );
  });
});

describe('Given two sides to compare', () => {
  it('When they are measured in rounds, Then each goes first in turn, and a round holds one of each', async () => {
    const order: string[] = [];
    const measured = (name: string) => async () => {
      order.push(name);
      return `${name} ${order.length}`;
    };

    const pairs = await inPairs(3, { ours: measured('ours'), control: measured('control') });

    expect(order).toEqual(['ours', 'control', 'control', 'ours', 'ours', 'control']);
    expect(pairs).toEqual([
      { ours: 'ours 1', control: 'control 2' },
      { ours: 'ours 4', control: 'control 3' },
      { ours: 'ours 5', control: 'control 6' },
    ]);
  });
});
