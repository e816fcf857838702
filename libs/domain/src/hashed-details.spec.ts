import {
  canonicalConversion,
  canonicalOrder,
  canonicalRecipient,
  type HashedConversion,
  type HashedOrder,
  type HashedRecipient,
  digestOf,
} from './transaction-hash.js';
import type { Timestamp } from './timestamp.js';

const RECIPIENT: HashedRecipient = {
  id: 3,
  name: 'Ravi Ünal',
  accountCode: '50100012345678',
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
  description: 'Rent',
  purposeCode: 'IR002',
  repeatUnit: 'monthly',
  repeatValue: 1,
  startAt: '2026-12-01T09:00:00+01:00',
  stopAt: '2027-12-01T08:00:00.000000Z',
  quoteId: 5,
  externalReference: 'R-1',
  metadata: { b: '2', a: '1' },
};

const CASES: readonly (readonly [string, object, (details: never) => string, string, string])[] = [
  [
    'a recipient',
    RECIPIENT,
    canonicalRecipient,
    '{"accountCode":"50100012345678","corridorId":4,"currencyCode":"INR","id":3,"name":"Ravi Ünal","routingCode":"HDFC0000001","routingCodeType":"ifsc"}',
    '1e7afdb4898a4ea60ea590f401892434d35970faeaf171b37bd3dbaa3bd81228',
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
    '{"accountId":1,"amount":"10000","description":"Rent","externalReference":"R-1","id":9,"metadata":{"a":"1","b":"2"},"purposeCode":"IR002",' +
      '"quoteId":5,"recipientId":3,"repeatUnit":"monthly","repeatValue":1,"startAt":"2026-12-01T09:00:00+01:00","stopAt":"2027-12-01T08:00:00.000000Z","type":"recurring"}',
    'a4a9c42c7939bfd407cf34b405d55a2e05e749c9fef69327420089eca5238757',
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
    const edited = { ...details, [field]: field === 'metadata' ? { a: '1' } : 7 };

    expect(canonical(edited as never)).not.toBe(canonical(details as never));
  });

  it.each(CASES)('of %s ignores fields of other names', (_what, details, canonical) => {
    expect(canonical({ ...details, status: 'completed' } as never)).toBe(canonical(details as never));
  });
});
