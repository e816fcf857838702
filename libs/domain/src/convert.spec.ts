import * as fc from 'fast-check';
import { MINOR_UNITS_MAX, minorUnits } from './amount.js';
import { type Rate, type Rounding, convert, inverse, rateOf } from './convert.js';
import { type CurrencyCode, currencies } from './currencies.js';

const ROUNDINGS: readonly Rounding[] = ['half-even', 'half-up', 'down', 'up'];
const CODES: readonly CurrencyCode[] = currencies()
  .filter(({ decimals }) => decimals !== undefined)
  .map(({ code }) => code);

const codes = fc.constantFrom(...CODES);
const roundings = fc.constantFrom(...ROUNDINGS);
const amounts = fc.bigInt({ min: -(10n ** 10n), max: 10n ** 10n }).map(minorUnits);
const positives = fc.bigInt({ min: 1n, max: 10_000n });
const rates: fc.Arbitrary<Rate> = fc.record({ from: codes, to: codes, numerator: positives, denominator: positives });

describe('a conversion', () => {
  it('has an amount and a remainder that add up to the exact result', () => {
    fc.assert(
      fc.property(amounts, rates, roundings, (amount, rate, rounding) => {
        const { amount: converted, remainder } = convert(amount, rate, rounding);
        const exact = amount * rate.numerator * 10n ** digits(rate.to);
        const scale = rate.denominator * 10n ** digits(rate.from);
        return (converted * remainder.denominator + remainder.numerator) * scale === exact * remainder.denominator;
      }),
    );
  });

  it('has a remainder of less than one unit, and of at most half a unit when it rounds to the nearest', () => {
    fc.assert(
      fc.property(amounts, rates, roundings, (amount, rate, rounding) => {
        const { numerator, denominator } = convert(amount, rate, rounding).remainder;
        const left = magnitude(numerator);
        return rounding.startsWith('half') ? left * 2n <= denominator : left < denominator;
      }),
    );
  });

  it('rounds negative amounts like positive ones', () => {
    fc.assert(
      fc.property(amounts, rates, roundings, (amount, rate, rounding) => {
        const there = convert(amount, rate, rounding).amount;
        return convert(minorUnits(-amount), rate, rounding).amount === -there;
      }),
    );
  });

  it('is never above the exact result rounded down, and never below it rounded up', () => {
    fc.assert(
      fc.property(amounts, rates, (amount, rate) => {
        const down = convert(amount, rate, 'down');
        const up = convert(amount, rate, 'up');
        const sign = amount < 0n ? -1n : 1n;
        return down.remainder.numerator * sign >= 0n && up.remainder.numerator * sign <= 0n;
      }),
    );
  });

  it('is reversed at the inverse rate if it needed no rounding', () => {
    fc.assert(
      fc.property(amounts, rates, roundings, (amount, rate, rounding) => {
        const there = convert(amount, rate, rounding);
        return there.remainder.numerator !== 0n || convert(there.amount, inverse(rate), rounding).amount === amount;
      }),
    );
  });

  it('does not change an amount at a rate of one within a currency', () => {
    fc.assert(
      fc.property(amounts, codes, roundings, (amount, code, rounding) => {
        const { amount: same, remainder } = convert(amount, rateOf(code, code, '1'), rounding);
        return same === amount && remainder.numerator === 0n;
      }),
    );
  });

  it('uses the decimals of both currencies: 100.00 EUR at 163.25 are 16325 yen', () => {
    const rate = rateOf('EUR', 'JPY', '163.25');

    expect(convert(minorUnits(10_000n), rate, 'down').amount).toBe(16_325n);
    expect(convert(minorUnits(16_325n), inverse(rate), 'down').amount).toBe(10_000n);
    expect(convert(minorUnits(10_000n), rateOf('EUR', 'KWD', '0.335'), 'down').amount).toBe(33_500n);
  });

  it.each([
    { half: 1n, 'half-even': 0n, 'half-up': 1n, down: 0n, up: 1n },
    { half: 3n, 'half-even': 2n, 'half-up': 2n, down: 1n, up: 2n },
    { half: 5n, 'half-even': 2n, 'half-up': 3n, down: 2n, up: 3n },
    { half: -1n, 'half-even': 0n, 'half-up': -1n, down: 0n, up: -1n },
    { half: -5n, 'half-even': -2n, 'half-up': -3n, down: -2n, up: -3n },
  ])('rounds $half halves as each rounding is named', ({ half, ...expected }) => {
    const rate = rateOf('EUR', 'EUR', '0.5');

    const rounded = Object.fromEntries(
      ROUNDINGS.map((rounding) => [rounding, convert(minorUnits(half), rate, rounding).amount]),
    );

    expect(rounded).toEqual(expected);
  });

  it('is refused if the books cannot store it', () => {
    expect(() => convert(minorUnits(MINOR_UNITS_MAX), rateOf('EUR', 'KWD', '1'), 'down')).toThrow(
      expect.objectContaining({ reason: 'amount_out_of_range' }),
    );
  });

  it('is refused for a currency without a smallest unit', () => {
    expect(() => convert(minorUnits(1n), rateOf('XAU', 'EUR', '1'), 'down')).toThrow(
      expect.objectContaining({ reason: 'currency_unknown' }),
    );
  });

  it.each([
    { numerator: 0n, denominator: 1n },
    { numerator: 1n, denominator: 0n },
    { numerator: 1n, denominator: -1n },
  ])('refuses a rate of $numerator / $denominator', (fraction) => {
    expect(() => convert(minorUnits(1n), { from: 'EUR', to: 'EUR', ...fraction }, 'up')).toThrow('above zero');
  });
});

describe('a rate in decimals', () => {
  it('is read exactly', () => {
    expect(rateOf('EUR', 'USD', '1.0832')).toEqual({ from: 'EUR', to: 'USD', numerator: 10832n, denominator: 10000n });
  });

  it.each(['', '0', '0.00', '-1', '1.', '.5', '1e3', '01', '1,5', '1'.repeat(16), `0.${'1'.repeat(16)}`])(
    'is refused in the form %j',
    (text) => {
      expect(() => rateOf('EUR', 'USD', text)).toThrow('rate');
    },
  );

  it.each(['floor', 'HALF-UP', undefined])('throws for the rounding %s, which is none', (rounding) => {
    const rate = rateOf('EUR', 'USD', '1.11111');

    expect(() => convert(minorUnits(5_000n), rate, rounding as never)).toThrow('not a rounding');
  });
});

function digits(code: CurrencyCode): bigint {
  return BigInt(currencies().find((entry) => entry.code === code)?.decimals ?? 0);
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}
