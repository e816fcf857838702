import type { CurrencyCode, Rate } from '@banking/domain';
import * as fc from 'fast-check';
import { crossRate, readRateDocument, type RateDocument } from './http-rate-source.js';

const CODES = ['EUR', 'INR', 'JPY', 'KWD', 'USD'] as const;
const codes = fc.constantFrom<CurrencyCode>(...CODES);
const decimals = fc
  .tuple(fc.bigInt({ min: 1n, max: 10n ** 9n }), fc.nat({ max: 9 }))
  .map(([digits, places]) => spelled(digits, places));
const documents: fc.Arbitrary<RateDocument> = fc
  .record({ EUR: decimals, INR: decimals, JPY: decimals, KWD: decimals })
  .map((rates) => ({ base: 'USD', asOf: '2026-11-21T09:30:00Z', rates }));

describe('a rate over the base', () => {
  it('times the reverse rate is exactly one', () => {
    fc.assert(
      fc.property(documents, codes, codes, (document, from, to) => {
        const [there, back] = [between(document, from, to), between(document, to, from)];
        return there.numerator * back.numerator === there.denominator * back.denominator;
      }),
    );
  });

  it('equals the product of the rates over a third currency', () => {
    fc.assert(
      fc.property(documents, codes, codes, codes, (document, from, over, to) => {
        const [first, second] = [between(document, from, over), between(document, over, to)];
        const straight = between(document, from, to);
        const around = first.numerator * second.numerator * straight.denominator;
        return around === first.denominator * second.denominator * straight.numerator;
      }),
    );
  });

  it('has every digit of the document if it is a rate of the base', () => {
    const document = readRateDocument(
      '{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":{"INR":83.120000000000005}}',
    );

    expect(between(document!, 'USD', 'INR')).toMatchObject({
      from: 'USD',
      to: 'INR',
      numerator: 83_120_000_000_000_005n,
      denominator: 10n ** 15n,
    });
  });

  it.each([
    '83.',
    '.5',
    '01',
    '-83',
    '+83',
    '8e1',
    '0',
    '0.000',
    '',
    ' 83',
    '83,12',
    '1'.repeat(16),
    'NaN',
    null,
    [],
    // An array of a rate becomes the text of that rate where a text is expected.
    ['83'],
    {},
    true,
  ])('is undefined for the text %j, and other rates are valid', (written) => {
    const rates = { INR: written, EUR: '0.86', toString: '1' };
    const document = readRateDocument(JSON.stringify({ base: 'USD', asOf: '2026-11-21T09:30:00Z', rates }))!;

    expect(crossRate(document, 'USD', 'INR')).toEqual({ garbles: 'INR' });
    expect(crossRate(document, 'INR', 'EUR')).toEqual({ garbles: 'INR' });
    expect(crossRate(document, 'EUR', 'JPY')).toEqual({ lacks: 'JPY' });
    expect(crossRate(document, 'EUR', 'USD')).toMatchObject({ numerator: 100n, denominator: 86n });
  });
});

describe('a spread', () => {
  const spreads = fc.bigInt({ min: 0n, max: 9_999n });
  const withSpreads = (spreadBasisPoints: unknown) =>
    readRateDocument(
      JSON.stringify({
        base: 'USD',
        asOf: '2026-11-21T09:30:00Z',
        rates: { INR: '83', EUR: '0.86' },
        spreadBasisPoints,
      }),
    );

  it('is subtracted from the exact rate in both directions of its pair, and from no other pair', () => {
    fc.assert(
      fc.property(documents, codes, codes, codes, spreads, (document, from, to, other, spread) => {
        fc.pre(new Set([from, to, other]).size === 3);
        const spreadDocument = { ...document, spreadBasisPoints: { [`${from}/${to}`]: spread.toString() } };
        for (const [one, two] of [
          [from, to],
          [to, from],
        ] as const) {
          const [exact, dealt] = [between(document, one, two), between(spreadDocument, one, two)];
          expect(dealt.numerator * exact.denominator * 10_000n).toBe(
            exact.numerator * dealt.denominator * (10_000n - spread),
          );
        }
        expect(between(spreadDocument, from, other)).toEqual(between(document, from, other));
        expect(between(spreadDocument, other, to)).toEqual(between(document, other, to));
      }),
    );
  });

  it('reduces 83 to 82.7925 with 25 basis points', () => {
    for (const written of [25, '25']) {
      const { numerator, denominator } = between(withSpreads({ 'INR/USD': written })!, 'USD', 'INR');
      expect(numerator * 10_000n).toBe(827_925n * denominator);
    }
  });

  it.each([10_000, -1, 2.5, '1e1', '025', '0x19', '', ' 25', 'none', null, true, [], [25], {}])(
    'leaves its pair without a rate if it is %j, and other pairs are valid',
    (written) => {
      const document = withSpreads({ 'USD/INR': written })!;

      expect(crossRate(document, 'USD', 'INR')).toEqual({ garblesSpread: 'USD/INR' });
      expect(crossRate(document, 'INR', 'USD')).toEqual({ garblesSpread: 'USD/INR' });
      expect(crossRate(document, 'EUR', 'INR')).toMatchObject({ numerator: 8_300n, denominator: 86n });
    },
  );

  it('leaves the pair without a rate if both directions have one', () => {
    const document = withSpreads({ 'USD/INR': 25, 'INR/USD': 25 })!;

    expect(crossRate(document, 'INR', 'USD')).toEqual({ garblesSpread: 'INR/USD' });
  });

  it.each([
    [null],
    [25],
    ['25'],
    [[]],
    [{ USDINR: 25 }],
    [{ 'usd/inr': 25 }],
    [{ 'USD/INR ': 25 }],
    [{ 'USD-INR': 25 }],
  ])('makes the document invalid in the form %j', (spreads) => {
    expect(withSpreads(spreads)).toBeUndefined();
  });
});

describe('a document of rates', () => {
  it('keeps the digits of numbers and the texts', () => {
    const text =
      '{"base":"USD","asOf":"2026-11-21T09:30:00.5+01:00","note":"a \\"12\\" of 3 \\\\","rates":{"INR":83.10,"X-1":1e3}}';

    expect(readRateDocument(text)).toEqual({
      base: 'USD',
      asOf: '2026-11-21T09:30:00.5+01:00',
      rates: { INR: '83.10', 'X-1': '1e3' },
    });
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '"USD"',
    '{"base":"USD","asOf":"2026-11-21T09:30:00Z"}',
    '{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":[]}',
    '{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":null}',
    '{"base":"USD","asOf":"2026-11-21T09:30:00","rates":{}}',
    '{"base":"USD","asOf":1795219200,"rates":{}}',
    '{"base":["USD"],"asOf":"2026-11-21T09:30:00Z","rates":{}}',
    '{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":{"INR":083}}',
    '{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":{"INR":NaN}}',
    '{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":{},"spreadBasisPoints":{"USD/INR":25,"INR":25}}',
    '{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":{},"spreadBasisPoints":{"XUSD/INR":25}}',
  ])('is refused in the form %j', (text) => {
    expect(readRateDocument(text)).toBeUndefined();
  });
});

function between(document: RateDocument, from: CurrencyCode, to: CurrencyCode): Rate {
  const rate = crossRate(document, from, to);
  if (!('numerator' in rate)) throw new Error(`no rate from ${from} to ${to}`);
  return rate;
}

function spelled(digits: bigint, places: number): string {
  const text = digits.toString().padStart(places + 1, '0');
  return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
}
