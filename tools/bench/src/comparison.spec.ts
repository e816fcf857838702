import * as fc from 'fast-check';
import { inPairs, ratiosOf, spreadOf } from './comparison.js';

const figures = fc.array(fc.double({ min: 0.001, max: 1_000_000, noNaN: true }), { minLength: 1, maxLength: 40 });

describe('spread of rounds', () => {
  it('has a median with as many values above as below, and bounds that include every value', () => {
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
  ])('has for %j the median %d', (values, median) => {
    expect(spreadOf(values).median).toBe(median);
  });

  it('fails without values', () => {
    expect(() => spreadOf([])).toThrow('nothing was measured');
  });

  it('keeps the ratios if both sides slow down alike', () => {
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

describe('comparison of two sides', () => {
  it('alternates the first side, and measures each side once per round', async () => {
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
