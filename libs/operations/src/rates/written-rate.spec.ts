import { rateOf, type Rate } from '@banking/domain';
import * as fc from 'fast-check';
import { writtenRate } from './written-rate.js';

const parts = fc.bigInt({ min: 1n, max: 10n ** 18n });
const rates: fc.Arbitrary<Rate> = fc.record({
  from: fc.constant('USD' as const),
  to: fc.constant('INR' as const),
  numerator: parts,
  denominator: parts,
});
const usd = (numerator: bigint, denominator = 1n): Rate => ({ from: 'USD', to: 'INR', numerator, denominator });

describe('a rate as it is written', () => {
  it('is read again, and differs from the exact one by half of its last digit at most', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const text = writtenRate(rate);
        if (text === undefined) return;
        const { numerator, denominator } = rateOf('USD', 'INR', text);
        const scale = 10n ** BigInt(Math.min(15, decimalsWritten(rate)));
        const off = numerator * rate.denominator - rate.numerator * denominator;
        expect((off < 0n ? -off : off) * 2n * scale).toBeLessThanOrEqual(rate.denominator * denominator);
      }),
    );
  });

  it('has at most twelve significant digits behind a whole part that has fewer, and one spelling', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const text = writtenRate(rate) ?? '1';
        const [whole = '', fraction = ''] = text.split('.');
        expect(text).toMatch(/^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/);
        expect(fraction.length === 0 || text.replace('.', '').replace(/^0+/, '').length <= 12).toBe(true);
        expect(Math.max(whole.length, fraction.length)).toBeLessThanOrEqual(15);
      }),
    );
  });

  it('is the exact one where that has no more digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n - 1n }), fc.nat({ max: 12 }), (digits, decimals) => {
        const rate = usd(digits, 10n ** BigInt(decimals));
        const { numerator, denominator } = rateOf('USD', 'INR', writtenRate(rate) ?? '1');
        return numerator * rate.denominator === rate.numerator * denominator;
      }),
    );
  });

  it.each([
    [usd(83n), '83'],
    [usd(7_700n, 43n), '179.069767442'],
    [usd(1n, 3n), '0.333333333333'],
    [usd(307n, 16_650_000n), '0.000018438438438'],
    [usd(999_999_999_999_9n, 10n ** 13n), '1'],
    [usd(1_000_000_000_005n, 10n ** 12n), '1'],
    [usd(1_000_000_000_015n, 10n ** 12n), '1.00000000002'],
    [usd(123_456_789_012_345n), '123456789012345'],
    [usd(1n, 10n ** 15n), '0.000000000000001'],
    [usd(1n, 3n * 10n ** 15n), undefined],
    [usd(1n, 10n ** 30n), undefined],
    [usd(10n ** 15n), undefined],
    [usd(10n ** 15n * 2n - 1n, 2n), undefined],
    [usd(10n ** 30n), undefined],
  ])('of %o is %p', (rate, text) => {
    expect(writtenRate(rate)).toBe(text);
  });
});

/** Twelve significant digits, counted from the first that is not zero. */
function decimalsWritten({ numerator, denominator }: Rate): number {
  for (let decimals = 0; ; decimals += 1) {
    if ((numerator * 10n ** BigInt(decimals)) / denominator >= 10n ** 11n || decimals === 15) return decimals;
  }
}
