import * as fc from 'fast-check';
import { BANKS, bankOf } from './banks.js';
import { countryOf } from './countries.js';

const banks = fc.constantFrom(...BANKS);
const branches = fc.stringMatching(/^[A-Z0-9]{3}$/);

describe('banks', () => {
  it('are found by their BIC in any case, with or without a branch', () => {
    const asked = fc.tuple(banks, fc.oneof(fc.constant(''), branches));

    fc.assert(
      fc.property(asked, fc.boolean(), ([bank, branch], lower) => {
        const code = bank.swiftCode + branch;
        return bankOf('SWIFT', lower ? code.toLowerCase() : code) === bank;
      }),
    );
  });

  it('are found only by codes of the given type, and no text throws', () => {
    fc.assert(fc.property(fc.string(), banks, (type, bank) => type === 'SWIFT' || !bankOf(type, bank.swiftCode)));
    fc.assert(fc.property(fc.string(), (code) => bankOf('SWIFT', code) === undefined || code.length >= 8));
  });

  it('have a BIC of eight characters in their country', () => {
    for (const { swiftCode, countryCode } of BANKS) {
      expect(swiftCode).toMatch(/^[A-Z]{6}[A-Z0-9]{2}$/);
      expect([swiftCode.slice(4, 6), countryOf(countryCode)?.alpha2]).toEqual([countryCode, countryCode]);
    }
  });

  it('have unique ids, names and BICs', () => {
    for (const field of ['id', 'name', 'swiftCode'] as const) {
      expect(new Set(BANKS.map((bank) => bank[field])).size).toBe(BANKS.length);
    }
    expect(BANKS.length).toBeGreaterThanOrEqual(25);
  });

  it.each([
    [1, 'DEUTDEFF'],
    [13, 'BARCGB22'],
    [25, 'HDFCINBB'],
    [34, 'BPKOPLPW'],
  ])('have fixed ids: %i is %s', (id, swiftCode) => {
    expect(BANKS.find((bank) => bank.id === id)?.swiftCode).toBe(swiftCode);
  });
});

describe('bankOf for an IFSC', () => {
  it('returns the bank of the first four letters', () => {
    expect(bankOf('IFSC', 'hdfc0000001')?.name).toBe('HDFC Bank');
  });

  it.each(['HDFC1000001', 'HDFC000001', 'HDFC00000011', 'ABCD0000001', 'HDFCINBB'])(
    'returns no bank for %j',
    (code) => {
      expect(bankOf('IFSC', code)).toBeUndefined();
    },
  );
});
