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

  it('are found only by codes of the type that was said, and no text throws', () => {
    fc.assert(fc.property(fc.string(), banks, (type, bank) => type === 'SWIFT' || !bankOf(type, bank.swiftCode)));
    fc.assert(fc.property(fc.string(), (code) => bankOf('SWIFT', code) === undefined || code.length >= 8));
  });

  it('bear a BIC of eight characters in the country they lie in', () => {
    for (const { swiftCode, countryCode } of BANKS) {
      expect(swiftCode).toMatch(/^[A-Z]{6}[A-Z0-9]{2}$/);
      expect([swiftCode.slice(4, 6), countryOf(countryCode)?.alpha2]).toEqual([countryCode, countryCode]);
    }
  });

  it('have an id, a name and a BIC of their own', () => {
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
  ])('keep their ids: %i is %s', (id, swiftCode) => {
    expect(BANKS.find((bank) => bank.id === id)?.swiftCode).toBe(swiftCode);
  });
});

describe('Given an IFSC', () => {
  it('When its first four letters are a bank we know, Then that is the bank', () => {
    expect(bankOf('IFSC', 'hdfc0000001')?.name).toBe('HDFC Bank');
  });

  it.each(['HDFC1000001', 'HDFC000001', 'HDFC00000011', 'ABCD0000001', 'HDFCINBB'])(
    'When it is %j, Then no bank is guessed',
    (code) => {
      expect(bankOf('IFSC', code)).toBeUndefined();
    },
  );
});
