import * as fc from 'fast-check';
import { COUNTRIES, countryOf } from './countries.js';

const countries = fc.constantFrom(...COUNTRIES);
const codes = countries.chain((country) => fc.constantFrom(country.alpha2, country.alpha3));

describe('country codes', () => {
  it('mean the same country in any case', () => {
    const cased = codes.chain((code) => fc.tuple(fc.constant(code), fc.mixedCase(fc.constant(code))));

    fc.assert(
      fc.property(cased, ([code, text]) => countryOf(text) !== undefined && countryOf(text) === countryOf(code)),
    );
  });

  it('return the country that has them', () => {
    fc.assert(
      fc.property(countries, (country) => {
        return countryOf(country.alpha2) === country && countryOf(country.alpha3) === country;
      }),
    );
  });

  it('are the only texts that return a country, and no text throws', () => {
    const known = new Set(COUNTRIES.flatMap(({ alpha2, alpha3 }) => [alpha2, alpha3]));
    const texts = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ minLength: 2, maxLength: 3 }));

    fc.assert(
      fc.property(texts, (text) => {
        const ascii = text.replace(/[a-z]/g, (letter) => letter.toUpperCase());
        return (countryOf(text) !== undefined) === known.has(ascii);
      }),
      { numRuns: 2_000 },
    );
  });

  it('return no country with another character before or after them', () => {
    const around = fc.tuple(codes, fc.constantFrom(' ', '\n', '\t', '\0', '.', '/', '\u200b'));

    fc.assert(
      fc.property(around, ([code, extra]) => {
        return countryOf(code + extra) === undefined && countryOf(extra + code) === undefined;
      }),
    );
  });

  it.each([
    ['', 'nothing'],
    ['ZZ', 'user-assigned'],
    ['AA', 'user-assigned'],
    ['XK', 'user-assigned, Kosovo'],
    ['XKX', 'user-assigned, Kosovo'],
    ['XKK', 'user-assigned, Kosovo'],
    ['EU', 'reserved, not a country'],
    ['UK', 'reserved for GB'],
    ['AN', 'withdrawn'],
    ['356', 'numeric'],
    ['..', 'dots'],
    ['../', 'a path'],
    ['\u{1F1FA}\u{1F1F8}', 'a flag'],
    ['\uFF35\uFF33', 'full-width letters'],
    ['\u0131n', 'a dotless i, which upper-cases to I'],
    ['\u017Fe', 'a long s, which upper-cases to S'],
    ['\u00DF', 'a sharp s, which upper-cases to SS'],
    ['India', 'a name'],
    ['constructor', 'a property of every object'],
  ])('do not include %j: %s', (text) => {
    expect(countryOf(text)).toBeUndefined();
  });
});

describe('the table of countries', () => {
  it('contains each of the 249 officially assigned countries once', () => {
    const alpha2 = new Set(COUNTRIES.map((country) => country.alpha2));
    const alpha3 = new Set(COUNTRIES.map((country) => country.alpha3));

    expect([COUNTRIES.length, alpha2.size, alpha3.size]).toEqual([249, 249, 249]);
  });

  it('has both codes and the English name of a country', () => {
    expect(countryOf('ind')).toEqual({ alpha2: 'IN', alpha3: 'IND', name: 'India' });
  });
});
