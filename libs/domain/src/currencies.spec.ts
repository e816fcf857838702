import { data as currencyCodes } from 'currency-codes';
import * as dinero from 'dinero.js/currencies';
import { CURRENCY_NAMES } from './currency-names.data.js';
import { CURRENCY_SOURCE } from './currencies.data.js';
import { currencies, currencyOf, decimalsOf, isCurrencyCode } from './currencies.js';

/** ISO 4217 has "N.A." for the minor unit of these: there is none. */
const WITHOUT_MINOR_UNIT = 'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' ');

describe('the currency table', () => {
  it('names the publication that it follows', () => {
    expect(CURRENCY_SOURCE.date).toBe('2026-09-17');
  });

  it('has the size and the decimals of that publication', () => {
    const having = (wanted: number | undefined) => currencies().filter(({ decimals }) => decimals === wanted).length;

    expect(currencies()).toHaveLength(178);
    expect([0, 1, 2, 3, 4, undefined].map(having)).toEqual([17, 0, 139, 7, 2, 13]);
  });

  it('is in the order of codes, with unique codes and numbers', () => {
    const codes = currencies().map(({ code }) => code);
    const numbers = currencies().map(({ numeric }) => numeric);

    expect(codes).toEqual([...new Set(codes)].sort());
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it('has only well-formed rows', () => {
    for (const { code, numeric, symbol } of currencies()) {
      expect(code).toMatch(/^[A-Z]{3}$/);
      expect(numeric).toBeGreaterThanOrEqual(8);
      expect(numeric).toBeLessThanOrEqual(999);
      expect(symbol).not.toBe('');
    }
  });

  it('has one name for each of its codes, in their order', () => {
    expect(Object.keys(CURRENCY_NAMES)).toEqual(currencies().map(({ code }) => code));
    for (const name of Object.values(CURRENCY_NAMES)) expect(name).toMatch(/^\S.*\S$/);
  });

  it('has the successors of withdrawn currencies, and not the withdrawn ones', () => {
    expect(['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL'].filter(isCurrencyCode)).toEqual([]);
    expect(['XCG', 'EUR', 'CUP', 'SLE', 'ZWG'].every(isCurrencyCode)).toBe(true);
  });

  it('returns a currency by its code in capital letters only', () => {
    expect(currencyOf('EUR')).toEqual({ code: 'EUR', numeric: 978, decimals: 2, symbol: '€' });
    for (const text of ['eur', 'BGN', '', 'constructor', '__proto__']) {
      expect(() => currencyOf(text)).toThrow(expect.objectContaining({ reason: 'currency_unknown' }));
    }
  });

  it('has no decimals for a currency without a smallest unit', () => {
    for (const code of WITHOUT_MINOR_UNIT) {
      expect(currencyOf(code).decimals).toBeUndefined();
      expect(() => decimalsOf(code)).toThrow(expect.objectContaining({ reason: 'currency_unknown' }));
    }
  });
});

describe('the currency table compared with currency-codes, which follows the list of 2024-06-25', () => {
  const theirs = new Map(currencyCodes.map((row) => [row.code, row]));

  it('differs in the codes of the amendments since, and in no other', () => {
    expect(onlyIn(theirs.keys(), isCurrencyCode)).toEqual([
      'ANG', // amendment 176: withdrawn on 2025-03-31, followed by XCG
      'BGN', // amendment 180: withdrawn on 2026-01-01, when Bulgaria joined the euro
      'CUC', // amendment 178: the convertible peso is gone
    ]);
    expect(onlyIn(ourCodes(), (code) => theirs.has(code))).toEqual([
      'XAD', // amendment 179: Arab Accounting Dinar, since 2025-05-12
      'XCG', // amendment 176: Caribbean Guilder, since 2025-03-31
    ]);
  });

  it('has the same numbers and names', () => {
    const shared = currencies().filter(({ code }) => theirs.has(code));

    for (const { code, numeric } of shared) {
      expect({ code, numeric, name: CURRENCY_NAMES[code] }).toEqual({
        code,
        numeric: Number(theirs.get(code)?.number),
        name: theirs.get(code)?.currency.trim(),
      });
    }
  });

  it('differs in decimals only for currencies without a minor unit', () => {
    const different = currencies().filter(
      ({ code, decimals }) => theirs.has(code) && theirs.get(code)?.digits !== decimals,
    );

    expect(different.map(({ code }) => code)).toEqual(WITHOUT_MINOR_UNIT);
    expect(different.every(({ code }) => theirs.get(code)?.digits === 0)).toBe(true);
  });
});

describe('the currency table compared with dinero.js 2.0.2, which follows a list of 2025', () => {
  const theirs = new Map(Object.values(dinero).map((row) => [row.code as string, row]));

  it('differs in one withdrawn code, and in the codes without a minor unit', () => {
    expect(onlyIn(theirs.keys(), isCurrencyCode)).toEqual([
      'BGN', // amendment 180: withdrawn on 2026-01-01
    ]);
    expect(onlyIn(ourCodes(), (code) => theirs.has(code))).toEqual(WITHOUT_MINOR_UNIT);
  });

  it('differs in decimals only for the two currencies whose unit is divided by five', () => {
    const different = currencies().filter(
      ({ code, decimals }) =>
        theirs.has(code) && (theirs.get(code)?.base !== 10 || theirs.get(code)?.exponent !== decimals),
    );

    // An ariary has five iraimbilanja, and an ouguiya five khoums. dinero.js uses base 5 and exponent 1 for both.
    // ISO 4217 gives both currencies two decimals, which payment messages use.
    expect(different.map(({ code, decimals }) => [code, decimals])).toEqual([
      ['MGA', 2],
      ['MRU', 2],
    ]);
    expect(different.map(({ code }) => theirs.get(code))).toEqual([
      { code: 'MGA', base: 5, exponent: 1 },
      { code: 'MRU', base: 5, exponent: 1 },
    ]);
  });
});

function ourCodes(): readonly string[] {
  return currencies().map(({ code }) => code);
}

function onlyIn(codes: Iterable<string>, known: (code: string) => boolean): readonly string[] {
  return [...codes].filter((code) => !known(code)).sort();
}
