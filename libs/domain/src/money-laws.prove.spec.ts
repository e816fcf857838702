import * as fc from 'fast-check';
import { MINOR_UNITS_MAX, minorUnits, parseTransferAmount, toTransferAmount } from './amount.js';
import { convert, type Rounding } from './convert.js';
import { type CurrencyCode, decimalsOf } from './currencies.js';
import { parseAmount, toDecimal } from './display.js';

const CASES = 100_000;

/** A currency with each number of decimals: 0, 2, 3 and 4. */
const CODES: readonly CurrencyCode[] = ['JPY', 'EUR', 'KWD', 'CLF'];
const codes = fc.constantFrom(...CODES);
const amounts = fc.bigInt({ min: 0n, max: MINOR_UNITS_MAX }).map(minorUnits);
const signedAmounts = fc.bigInt({ min: -MINOR_UNITS_MAX, max: MINOR_UNITS_MAX }).map(minorUnits);
const convertible = fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n }).map(minorUnits);
const parts = fc.bigInt({ min: 1n, max: 10n ** 15n });
/** Rates that keep the result within the range of the books. */
const fractions: fc.Arbitrary<readonly [bigint, bigint]> = fc
  .tuple(parts, parts)
  .map(([one, other]) => (one < other ? [one, other] : [other, one]));
const roundings = fc.constantFrom<Rounding>('down', 'up', 'half-up', 'half-even');

describe(`laws of money, each with ${CASES} cases`, () => {
  it('covers currencies with 0, 2, 3 and 4 decimals', () => {
    expect(CODES.map((code) => decimalsOf(code))).toEqual([0, 2, 3, 4]);
  });

  it('reads each amount of a transfer as it was written', () => {
    const property = fc.property(amounts, (amount) => parseTransferAmount(toTransferAmount(amount)) === amount);

    fc.assert(property, { numRuns: CASES });
  });

  it('reads each decimal amount as it was written', () => {
    const property = fc.property(signedAmounts, codes, (amount, code) => {
      return parseAmount(toDecimal(amount, code), code) === amount;
    });

    fc.assert(property, { numRuns: CASES });
  });

  it('converts without a loss: the amount and its remainder are the exact amount, and the remainder is below a unit', () => {
    const property = fc.property(
      convertible,
      codes,
      codes,
      fractions,
      roundings,
      (amount, from, to, fraction, rounding) => {
        const [numerator, denominator] = fraction;
        const { amount: converted, remainder } = convert(amount, { from, to, numerator, denominator }, rounding);
        const rest = remainder.numerator < 0n ? -remainder.numerator : remainder.numerator;
        // Both sides are multiplied by both denominators.
        const exact = amount * numerator * 10n ** BigInt(decimalsOf(to)) * remainder.denominator;
        const scale = denominator * 10n ** BigInt(decimalsOf(from));
        return (
          exact === (converted * remainder.denominator + remainder.numerator) * scale && rest < remainder.denominator
        );
      },
    );

    fc.assert(property, { numRuns: CASES });
  });
});
