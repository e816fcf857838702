import { inverse, rateOf, type Rate } from '@banking/domain';
import * as fc from 'fast-check';
import { writtenRate } from './http-rate-source.js';

const parts = fc.bigInt({ min: 1n, max: 10n ** 18n });
const nearOne = fc.tuple(parts, fc.bigInt({ min: -1_000n, max: 1_000n }));
const rates: fc.Arbitrary<Rate> = fc
  .oneof(
    fc.tuple(parts, parts),
    nearOne.filter(([part, off]) => part + off > 0n).map(([part, off]): [bigint, bigint] => [part + off, part]),
  )
  .map(([numerator, denominator]) => ({ from: 'USD', to: 'INR', numerator, denominator }));
const usd = (numerator: bigint, denominator = 1n): Rate => ({ from: 'USD', to: 'INR', numerator, denominator });

describe('a written rate', () => {
  it('is at most the exact rate, and less than one unit of its last digit below it', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const text = writtenRate(rate);
        if (text === undefined) return;
        const written = rateOf('USD', 'INR', text);
        const scale = 10n ** BigInt(decimalsWritten(rate));
        const below = rate.numerator * written.denominator - written.numerator * rate.denominator;
        expect(below).toBeGreaterThanOrEqual(0n);
        expect(below * scale).toBeLessThan(rate.denominator * written.denominator);
      }),
    );
  });

  it('times the written reverse rate is at most one', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const [there, back] = [writtenRate(rate), writtenRate(inverse(rate))];
        if (there === undefined || back === undefined) return;
        const [one, other] = [rateOf('USD', 'INR', there), rateOf('INR', 'USD', back)];
        expect(one.numerator * other.numerator).toBeLessThanOrEqual(one.denominator * other.denominator);
      }),
    );
  });

  it('does not change when it is written again', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const text = writtenRate(rate);
        expect(text === undefined ? text : writtenRate(rateOf('USD', 'INR', text))).toBe(text);
      }),
    );
  });

  it('has one spelling, with at most fifteen significant digits and fifteen on each side of the point', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const text = writtenRate(rate) ?? '1';
        const [whole = '', fraction = ''] = text.split('.');
        expect(text).toMatch(/^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/);
        expect(text.replace('.', '').replace(/^0+/, '').length).toBeLessThanOrEqual(15);
        expect(Math.max(whole.length, fraction.length)).toBeLessThanOrEqual(15);
      }),
    );
  });

  it('is the exact rate if that has at most fifteen digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 15n - 1n }), fc.nat({ max: 15 }), (digits, decimals) => {
        const rate = usd(digits, 10n ** BigInt(decimals));
        const { numerator, denominator } = rateOf('USD', 'INR', writtenRate(rate) ?? '1');
        return numerator * rate.denominator === rate.numerator * denominator;
      }),
    );
  });

  it.each([
    [usd(83n), '83'],
    [usd(7_700n, 43n), '179.06976744186'],
    [usd(1n, 3n), '0.333333333333333'],
    [usd(2n, 3n), '0.666666666666666'],
    [usd(307n, 16_650_000n), '0.000018438438438'],
    [usd(9_999_999_999_999_999n, 10n ** 16n), '0.999999999999999'],
    [usd(1_000_000_000_000_009n, 10n ** 15n), '1'],
    [usd(1_000_000_000_000_019n, 10n ** 15n), '1.00000000000001'],
    [usd(123_456_789_012_345n), '123456789012345'],
    [usd(10n ** 16n - 1n, 10n), '999999999999999'],
    [usd(1n, 10n ** 15n), '0.000000000000001'],
    [usd(19n, 10n ** 16n), '0.000000000000001'],
    [usd(1n, 3n * 10n ** 15n), undefined],
    [usd(1n, 10n ** 30n), undefined],
    [usd(10n ** 15n), undefined],
    [usd(10n ** 30n), undefined],
  ])('has for %o the text %p', (rate, text) => {
    expect(writtenRate(rate)).toBe(text);
  });
});

/** Fifteen significant digits, counted from the first digit of the whole part. */
function decimalsWritten({ numerator, denominator }: Rate): number {
  const whole = numerator / denominator;
  return whole === 0n ? 15 : 15 - whole.toString().length;
}
