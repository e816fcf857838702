import { Reference, type ReferenceFacts } from './reference.js';

const AT = '2026-11-22T09:30:00.5+00:00';
const TIMES = { createdAt: '2026-11-22T09:30:00.500000Z', updatedAt: '2026-11-22T09:30:00.500000Z' };

/** As a snapshot of an earlier version stores it. */
const FACTS: ReferenceFacts = [
  [
    [840, 'USD', 'US Dollar', null, 2, null, AT, AT],
    [978, 'EUR', 'Euro', '€', 2, '5000', AT, AT],
  ],
  [[1, 'Current account', 'For payments', 978, AT, AT]],
  [[3, 'Northwind Bank', 'DE', 'NWBADEFF', AT, AT]],
];

const EURO = {
  ...{ id: 978, code: 'EUR', name: 'Euro', symbol: '€', decimals: 2, swiftMinimumWithdrawalAmount: '5000' },
  ...TIMES,
};

describe('the reference data of a snapshot', () => {
  const reference = new Reference(7n, FACTS);

  it('is read by every later program', () => {
    expect(reference.currency(978)).toEqual(EURO);
    expect(reference.currency(840)).toEqual({ id: 840, code: 'USD', name: 'US Dollar', decimals: 2, ...TIMES });
    expect(reference.products).toEqual([
      { id: 1, name: 'Current account', description: 'For payments', ...TIMES, edges: { currency: EURO } },
    ]);
    expect(reference.bank(3)).toEqual({
      ...{ id: 3, name: 'Northwind Bank', countryCode: 'DE', swiftCode: 'NWBADEFF' },
      ...TIMES,
    });
  });

  it('has no other rows', () => {
    expect(() => reference.currency(1)).toThrow('the reference data has no row 1');
  });
});
