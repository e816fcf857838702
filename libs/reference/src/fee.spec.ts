import { type MinorUnits, minorUnits, MINOR_UNITS_MAX, type Rounding } from '@banking/domain';
import * as fc from 'fast-check';
import { feeOf, type FeeSchedule } from './fee.js';

const amounts = fc.bigInt({ min: 0n, max: 10n ** 15n }).map(minorUnits);
const roundings = fc.constantFrom<Rounding>('half-even', 'half-up', 'down', 'up');
const shares = fc.bigInt({ min: 0n, max: 1_000_000n });
const bounds = fc.tuple(amounts, fc.option(amounts, { nil: undefined })).map(([one, other]) => {
  if (other === undefined) return { minimum: one };
  return one < other ? { minimum: one, maximum: other } : { minimum: other, maximum: one };
});
const schedules: fc.Arbitrary<FeeSchedule> = fc
  .tuple(amounts, shares, bounds)
  .map(([fixed, partsPerMillion, bound]) => ({ currency: 'EUR', fixed, partsPerMillion, ...bound }));

describe('a fee', () => {
  it('never falls if the amount rises', () => {
    fc.assert(
      fc.property(schedules, amounts, amounts, roundings, (schedule, one, other, rounding) => {
        const [less, more] = one < other ? [one, other] : [other, one];
        return feeOf(schedule, less, rounding) <= feeOf(schedule, more, rounding);
      }),
    );
  });

  it('is within its minimum and maximum, and never below zero', () => {
    fc.assert(
      fc.property(schedules, amounts, roundings, (schedule, amount, rounding) => {
        const fee = feeOf(schedule, amount, rounding);
        return fee >= schedule.minimum && fee <= (schedule.maximum ?? fee) && fee >= 0n;
      }),
    );
  });

  it('is the fixed part for any amount if the schedule has no share', () => {
    fc.assert(
      fc.property(amounts, amounts, roundings, (fixed, amount, rounding) => {
        return feeOf(free({ fixed }), amount, rounding) === fixed;
      }),
    );
  });

  it('differs from the exact fee by less than a unit, in the direction of the rounding', () => {
    fc.assert(
      fc.property(amounts, shares, amounts, (fixed, partsPerMillion, amount) => {
        const schedule = free({ fixed, partsPerMillion });
        const exact = fixed * 1_000_000n + amount * partsPerMillion;
        const down = feeOf(schedule, amount, 'down') * 1_000_000n;
        const up = feeOf(schedule, amount, 'up') * 1_000_000n;
        return down <= exact && exact - down < 1_000_000n && up >= exact && up - exact < 1_000_000n;
      }),
    );
  });

  it('is calculated in minor units: 1.00 and 0.2 percent of 1,234.56 are 3.47, and 2.00 at least', () => {
    const schedule = free({ fixed: minorUnits(100n), partsPerMillion: 2_000n, minimum: minorUnits(200n) });

    expect(feeOf(schedule, minorUnits(123_456n), 'half-even')).toBe(347n);
    expect(feeOf(schedule, minorUnits(123_456n), 'down')).toBe(346n);
    expect(feeOf(schedule, minorUnits(1_000n), 'half-even')).toBe(200n);
    expect(feeOf({ ...schedule, maximum: minorUnits(300n) }, minorUnits(123_456n), 'half-even')).toBe(300n);
  });

  it('keeps every digit of the largest amount', () => {
    const half = free({ partsPerMillion: 500_000n });

    expect(feeOf(half, minorUnits(MINOR_UNITS_MAX), 'down')).toBe(4_611_686_018_427_387_903n);
  });

  it('is refused if the books cannot store it', () => {
    const twice = free({ fixed: minorUnits(1n), partsPerMillion: 1_000_000n });

    expect(() => feeOf(twice, minorUnits(MINOR_UNITS_MAX), 'down')).toThrow(
      expect.objectContaining({ reason: 'amount_out_of_range' }),
    );
  });

  it.each<[string, Partial<FeeSchedule>]>([
    ['a fixed part below zero', { fixed: -1n as MinorUnits }],
    ['a minimum below zero', { minimum: -1n as MinorUnits }],
    ['a share below zero', { partsPerMillion: -1n }],
    ['a share above the whole', { partsPerMillion: 1_000_001n }],
    ['a minimum above its maximum', { minimum: minorUnits(2n), maximum: minorUnits(1n) }],
  ])('cannot be calculated by a schedule with %s', (_, part) => {
    expect(() => feeOf(free(part), minorUnits(1n), 'down')).toThrow('schedule');
  });

  it('cannot be calculated for an amount below zero', () => {
    expect(() => feeOf(free({}), minorUnits(-1n), 'down')).toThrow('below zero');
  });
});

/** A schedule with these parts only. */
function free(part: Partial<FeeSchedule>): FeeSchedule {
  return { currency: 'EUR', fixed: minorUnits(0n), partsPerMillion: 0n, minimum: minorUnits(0n), ...part };
}
