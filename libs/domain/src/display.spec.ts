import * as fc from 'fast-check';
import { MINOR_UNITS_MAX, minorUnits } from './amount.js';
import { currencies } from './currencies.js';
import { formatAmount, parseAmount, toDecimal } from './display.js';
import { Refusal } from './refusal-table.js';

const CODES = currencies()
  .filter(({ decimals }) => decimals !== undefined)
  .map(({ code }) => code);

const codes = fc.constantFrom(...CODES);
const amounts = fc.bigInt({ min: -MINOR_UNITS_MAX, max: MINOR_UNITS_MAX }).map(minorUnits);

describe('an amount written as a decimal', () => {
  it('is read back as the same amount, in every currency', () => {
    fc.assert(fc.property(amounts, codes, (amount, code) => parseAmount(toDecimal(amount, code), code) === amount));
  });

  it('has exactly the decimals of its currency', () => {
    fc.assert(
      fc.property(amounts, fc.constantFrom(...currencies()), (amount, { code, decimals }) => {
        if (decimals === undefined) return true;
        return (toDecimal(amount, code).split('.')[1] ?? '').length === decimals;
      }),
    );
  });

  it.each([
    { amount: 123_450n, code: 'EUR', text: '1234.50' },
    { amount: 123_450n, code: 'JPY', text: '123450' },
    { amount: 123_450n, code: 'KWD', text: '123.450' },
    { amount: 123_450n, code: 'CLF', text: '12.3450' },
    { amount: -5n, code: 'EUR', text: '-0.05' },
    { amount: 0n, code: 'EUR', text: '0.00' },
  ])('is $text for $amount minor units of $code', ({ amount, code, text }) => {
    expect(toDecimal(minorUnits(amount), code)).toBe(text);
  });
});

describe('an amount that a person enters', () => {
  it.each([
    { text: '1234.5', code: 'EUR', amount: 123_450n },
    { text: '1234', code: 'EUR', amount: 123_400n },
    { text: '-3', code: 'JPY', amount: -3n },
    { text: '0.001', code: 'BHD', amount: 1n },
  ])('is read: $text $code', ({ text, code, amount }) => {
    expect(parseAmount(text, code)).toBe(amount);
  });

  it('is exact: the amount has the digits of the text, and zeros for missing decimals', () => {
    const written = fc.oneof(
      fc.stringMatching(/^-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,4})?$/),
      fc.string({ unit: fc.constantFrom(...'0123456789-.') }),
    );
    let read = 0;
    fc.assert(
      fc.property(written, codes, (text, code) => {
        const amount = readOrRefused(() => parseAmount(text, code));
        if (amount === undefined) return;
        read += 1;
        const exact = toDecimal(amount, code);
        const [whole = '', decimals = ''] = text.split('.');
        const padded = exact.includes('.') ? `${whole}.${decimals.padEnd(exact.split('.')[1]!.length, '0')}` : whole;
        expect(exact).toBe(amount === 0n ? padded.replace('-', '') : padded);
      }),
      {
        numRuns: 1_000,
        examples: [
          ['-0.00', 'EUR'],
          ['2.3', 'EUR'],
          ['9'.repeat(40), 'JPY'],
        ],
      },
    );
    expect(read).toBeGreaterThan(100);
  });

  it('is refused with more decimals than its currency has, and the message has both numbers', () => {
    expect(() => parseAmount('1.005', 'EUR')).toThrow(
      expect.objectContaining({
        reason: 'amount_too_precise',
        message: 'An amount in EUR must have at most 2 decimals, not 3.',
      }),
    );
    expect(() => parseAmount('1.0', 'JPY')).toThrow(
      expect.objectContaining({
        reason: 'amount_too_precise',
        message: 'An amount in JPY must have no decimals, not 1.',
      }),
    );
  });

  it('is refused and not rounded with any number of excess decimals', () => {
    const tooMany = fc.tuple(codes, fc.nat(), fc.integer({ min: 5, max: 20 }));
    fc.assert(
      fc.property(tooMany, ([code, whole, count]) => {
        expect(() => parseAmount(`${whole}.${'0'.repeat(count)}`, code)).toThrow(
          expect.objectContaining({ reason: 'amount_too_precise' }),
        );
      }),
    );
  });

  it.each(['', '.5', '5.', '1,5', '1 000', '+1', '01', '--1', '1e3', '１', 'NaN', '1.2.3', '5\n'])(
    'is refused when it is written %j',
    (text) => {
      expect(() => parseAmount(text, 'EUR')).toThrow(expect.objectContaining({ reason: 'amount_malformed' }));
    },
  );

  it('is refused if it is too large, without parsing a million digits', () => {
    expect(() => parseAmount('92233720368547758.08', 'EUR')).toThrow(
      expect.objectContaining({ reason: 'amount_out_of_range' }),
    );
    expect(() => parseAmount('9'.repeat(1_000_000), 'EUR')).toThrow(
      expect.objectContaining({ reason: 'amount_out_of_range' }),
    );
  });

  it.each(['eur', 'BGN', 'XAU', 'ZZZ', '', '__proto__'])('is refused in the currency %j', (code) => {
    expect(() => parseAmount('1', code)).toThrow(expect.objectContaining({ reason: 'currency_unknown' }));
  });
});

describe('an amount shown to people', () => {
  it('keeps every digit in each of these locales', () => {
    fc.assert(
      fc.property(
        amounts,
        codes,
        fc.constantFrom('en-US', 'de-DE', 'ja-JP', 'fr-CH', 'en-IN'),
        (amount, code, place) => {
          const shown = formatAmount(amount, code, place).replaceAll(/[^0-9]/g, '');
          return shown === toDecimal(amount, code).replaceAll(/[^0-9]/g, '');
        },
      ),
    );
  });

  it.each([
    { amount: 123_450n, code: 'EUR', place: 'ja-JP', text: '€1,234.50' },
    { amount: 123_450n, code: 'JPY', place: 'ja-JP', text: '￥123,450' },
    { amount: 123_450n, code: 'EUR', place: 'de-DE', text: '1.234,50 €' },
    { amount: -123_450n, code: 'USD', place: 'en-US', text: '-$1,234.50' },
    { amount: MINOR_UNITS_MAX, code: 'EUR', place: 'en-US', text: '€92,233,720,368,547,758.07' },
  ])('is $text for $amount of $code in the locale $place', ({ amount, code, place, text }) => {
    expect(plainSpaces(formatAmount(minorUnits(amount), code, place))).toBe(text);
  });

  it('has the decimals of ISO 4217 if those of Intl differ', () => {
    const intl = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'IQD' }).resolvedOptions();

    expect(intl.maximumFractionDigits).toBe(0);
    expect(plainSpaces(formatAmount(minorUnits(1_234_567n), 'IQD', 'en-US'))).toBe('IQD 1,234.567');
  });

  it('uses the default locale if none is given', () => {
    expect(formatAmount(minorUnits(5n), 'EUR')).toBe(formatAmount(minorUnits(5n), 'EUR', undefined));
  });
});

describe('an amount with the currency of a response', () => {
  const amount = minorUnits(123_450n);

  it.each([
    { of: 'the same decimals as ISO 4217', currency: { code: 'KWD', decimals: 3 }, text: 'KWD 123.450' },
    { of: 'no decimals', currency: { code: 'KWD' }, text: 'KWD 123.450' },
    { of: 'other decimals than ISO 4217', currency: { code: 'KWD', decimals: 2 }, text: 'KWD 123.450' },
    { of: 'decimals that are no number', currency: { code: 'EUR', decimals: '2' as never }, text: '€1,234.50' },
    { of: 'a code that is not current', currency: { code: 'BGN', decimals: 2 }, text: 'BGN 1,234.50' },
    { of: 'a code that is not current, in whole units', currency: { code: 'ITL', decimals: 0 }, text: 'ITL 123,450' },
  ])('is $text with $of', ({ currency, text }) => {
    expect(plainSpaces(formatAmount(amount, currency, 'en'))).toBe(text);
    expect(parseAmount(toDecimal(amount, currency), currency)).toBe(amount);
  });

  it.each([
    { of: 'a code that is not current without decimals', currency: { code: 'BGN' } },
    { of: 'a code without a smallest unit', currency: { code: 'XAU', decimals: 2 } },
    { of: 'a fraction of a decimal', currency: { code: 'BGN', decimals: 1.5 } },
    { of: 'fewer than no decimals', currency: { code: 'BGN', decimals: -1 } },
    { of: 'more decimals than a currency can have', currency: { code: 'BGN', decimals: 10 } },
    { of: 'a code of another form', currency: { code: 'Lev', decimals: 2 } },
    { of: 'a code that is missing', currency: { decimals: 2 } as never },
  ])('is refused with $of', ({ currency }) => {
    const refused = expect.objectContaining({ reason: 'currency_unknown' });
    expect(() => formatAmount(amount, currency, 'en')).toThrow(refused);
    expect(() => toDecimal(amount, currency)).toThrow(refused);
    expect(() => parseAmount('1', currency)).toThrow(refused);
  });

  it('has the decimals of the currency in the message of a refusal', () => {
    expect(() => parseAmount('1.005', { code: 'BGN', decimals: 2 })).toThrow(
      'An amount in BGN must have at most 2 decimals',
    );
  });
});

/** The amount, or undefined if it is refused. Any other error is thrown. */
function readOrRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Replaces the no-break spaces of locale data by plain ones, so that the table is readable. */
function plainSpaces(text: string): string {
  return text.replaceAll(/\p{Space_Separator}/gu, ' ');
}
