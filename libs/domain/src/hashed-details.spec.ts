import {
  canonicalConversion,
  canonicalDescription,
  canonicalOrder,
  canonicalOrderTexts,
  canonicalPerson,
  canonicalRecipient,
  type HashedConversion,
  type HashedOrder,
  type HashedRecipient,
  digestOf,
} from './transaction-hash.js';
import type { Timestamp } from './timestamp.js';

const RECIPIENT: HashedRecipient = {
  id: 3,
  personDigest: 'a7'.repeat(32),
  currencyCode: 'INR',
  corridorId: 4,
  routingCodeType: 'ifsc',
  routingCode: 'HDFC0000001',
};
const CONVERSION: HashedConversion = {
  quoteId: 5,
  sourceCurrencyCode: 'USD',
  sourceAmount: '10000',
  targetCurrencyCode: 'INR',
  targetAmount: '830000',
  rate: '83',
  rateSource: 'demo',
  rateAsOf: '2026-11-21T09:30:00.000000Z' as Timestamp,
  rounding: 'down',
  remainderNumerator: '0',
  remainderDenominator: '100',
  fixedSide: 'source',
};
const ORDER: HashedOrder = {
  id: 9,
  accountId: 1,
  recipientId: 3,
  amount: '10000',
  type: 'recurring',
  purposeCode: 'IR002',
  repeatUnit: 'monthly',
  repeatValue: 1,
  startAt: '2026-12-01T09:00:00+01:00',
  stopAt: '2027-12-01T08:00:00.000000Z',
  quoteId: 5,
  externalReference: 'R-1',
  textsDigest: 'b8'.repeat(32),
};

const CASES: readonly (readonly [string, object, (details: never) => string, string, string])[] = [
  [
    'a recipient',
    RECIPIENT,
    canonicalRecipient,
    `{"corridorId":4,"currencyCode":"INR","id":3,"personDigest":"${'a7'.repeat(32)}","routingCode":"HDFC0000001","routingCodeType":"ifsc"}`,
    'ee4fef7af76ace5ea68e846383dc861a75f68f041bb21aa8cf045c09f635dfb0',
  ],
  [
    'a conversion',
    CONVERSION,
    canonicalConversion,
    '{"fixedSide":"source","quoteId":5,"rate":"83","rateAsOf":"2026-11-21T09:30:00.000000Z","rateSource":"demo","remainderDenominator":"100",' +
      '"remainderNumerator":"0","rounding":"down","sourceAmount":"10000","sourceCurrencyCode":"USD","targetAmount":"830000","targetCurrencyCode":"INR"}',
    'b3ed6170389b83032f3e7683641cb37f48260c7ec09a276cdb3f286e6acaf186',
  ],
  [
    'an order',
    ORDER,
    canonicalOrder,
    '{"accountId":1,"amount":"10000","externalReference":"R-1","id":9,"purposeCode":"IR002",' +
      '"quoteId":5,"recipientId":3,"repeatUnit":"monthly","repeatValue":1,"startAt":"2026-12-01T09:00:00+01:00","stopAt":"2027-12-01T08:00:00.000000Z",' +
      `"textsDigest":"${'b8'.repeat(32)}","type":"recurring"}`,
    '8e2c01759f8c97fb67e68f356c29570ba931bee6929b9765684ca183247fa8c7',
  ],
];

describe('the digest', () => {
  it.each(CASES)('of %s is fixed, so that hashes stay valid', async (_what, details, canonical, text, digest) => {
    expect(canonical(details as never)).toBe(text);
    expect(await digestOf(text)).toBe(digest);
  });

  it.each(
    CASES.flatMap(([what, details, canonical]) =>
      Object.keys(details).map((field) => [field, what, details, canonical] as const),
    ),
  )('covers %s of %s', (field, _what, details, canonical) => {
    const edited = { ...details, [field]: 7 };

    expect(canonical(edited as never)).not.toBe(canonical(details as never));
  });

  it.each(CASES)('of %s ignores fields of other names', (_what, details, canonical) => {
    expect(canonical({ ...details, status: 'completed' } as never)).toBe(canonical(details as never));
  });
});

describe('the digest of personal texts', () => {
  const SALT = '0f'.repeat(16);

  it.each([
    [
      'a person',
      canonicalPerson({ salt: SALT, name: 'Ravi "Ü"', accountCode: 'A\\1' }),
      `["${SALT}","Ravi \\"Ü\\"","A\\\\1"]`,
    ],
    ['a description', canonicalDescription({ salt: SALT, description: 'Rent' }), `["${SALT}","Rent"]`],
    [
      'the texts of an order',
      canonicalOrderTexts({ salt: SALT, metadata: { b: '2', a: '1' } }),
      `["${SALT}",null,{"a":"1","b":"2"}]`,
    ],
  ])('of %s covers its salt and its texts', (_what, text, expected) => {
    expect(text).toBe(expected);
  });

  it('has another text for each salt, so that no guess of the texts can be compared with it', () => {
    expect(canonicalDescription({ salt: SALT, description: 'Rent' })).not.toBe(
      canonicalDescription({ salt: '1f'.repeat(16), description: 'Rent' }),
    );
  });
});
