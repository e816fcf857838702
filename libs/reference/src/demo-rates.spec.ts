import { convert, type CurrencyCode, currencyOf, inverse, minorUnits } from '@banking/domain';
import * as fc from 'fast-check';
import { DEMO_RATES_SOURCE, type DemoRate, demoRate } from './demo-rates.js';
import { demoReference, newProducts } from './reference-document.js';

const CODES: readonly CurrencyCode[] = [
  ...new Set([
    ...newProducts().products!.map(({ currency }) => currency),
    ...demoReference().corridors!.flatMap(({ destinationCurrency, limitCurrency }) => [
      destinationCurrency,
      limitCurrency,
    ]),
  ]),
].map((code) => currencyOf(code).code);

const codes = fc.constantFrom(...CODES);

describe('a demo rate', () => {
  it('exists between all currencies of the products and the corridors, is above zero and marked as demo', () => {
    const rates = CODES.flatMap((from) => CODES.map((to) => between(from, to)));

    expect(rates.filter(({ numerator, denominator }) => numerator <= 0n || denominator <= 0n)).toEqual([]);
    expect(new Set(rates.map(({ source }) => source))).toEqual(new Set([DEMO_RATES_SOURCE]));
    expect(DEMO_RATES_SOURCE).toMatchObject({ kind: 'demo', date: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/) });
  });

  it('times the reverse rate is exactly one', () => {
    fc.assert(
      fc.property(codes, codes, (from, to) => {
        const [there, back] = [between(from, to), between(to, from)];
        expect(inverse(there)).toEqual({
          from: to,
          to: from,
          numerator: back.numerator,
          denominator: back.denominator,
        });
        return there.numerator * back.numerator === there.denominator * back.denominator;
      }),
    );
  });

  it('equals the product of the rates over a third currency', () => {
    fc.assert(
      fc.property(codes, codes, codes, (from, over, to) => {
        const [first, second, straight] = [between(from, over), between(over, to), between(from, to)];
        const around = first.numerator * second.numerator * straight.denominator;
        return around === first.denominator * second.denominator * straight.numerator;
      }),
    );
  });

  it('is one within a currency', () => {
    for (const code of CODES) expect(between(code, code)).toMatchObject({ numerator: 1n, denominator: 1n });
  });

  it('is in lowest terms, from whole units to whole units', () => {
    expect(demoRate('EUR', 'JPY')).toMatchObject({ from: 'EUR', to: 'JPY', numerator: 7_700n, denominator: 43n });
    expect(convert(minorUnits(250_000n), between('USD', 'INR'), 'down').amount).toBe(20_750_000n);
    expect(convert(minorUnits(10_000n), between('USD', 'KWD'), 'down').amount).toBe(30_700n);
    expect(convert(minorUnits(10_000n), between('USD', 'JPY'), 'down').amount).toBe(15_400n);
  });

  it.each(['XAU', 'ARS', 'constructor', '__proto__', ''])('does not exist for %j', (code) => {
    expect(demoRate('USD', code as CurrencyCode)).toBeUndefined();
    expect(demoRate(code as CurrencyCode, 'USD')).toBeUndefined();
  });
});

function between(from: CurrencyCode, to: CurrencyCode): DemoRate {
  const rate = demoRate(from, to);
  if (rate === undefined) throw new Error(`no rate from ${from} to ${to}`);
  return rate;
}
