import { minorUnits } from '@banking/domain';
import type { Payment } from '@banking/payouts';
import { dialectOf, type BankDialect } from '../rail-config.js';
import { filePayment, fileRailConfig } from '../testing/file-rails.js';
import { contentInFile, isCreditorReference, UnwritablePaymentError } from './payment-content.js';

const config = fileRailConfig();

const contentOf = (more: Partial<Payment> = {}, dialect: Partial<BankDialect> = {}) =>
  contentInFile(filePayment(1, more), config.accounts, { ...dialectOf(config), ...dialect });

const creditorOf = (more: Partial<Payment['creditor']>): Partial<Payment> => ({
  creditor: { ...filePayment(1).creditor, ...more },
});

function rejectionOf(more: Partial<Payment>, dialect: Partial<BankDialect> = {}) {
  try {
    contentOf(more, dialect);
  } catch (error) {
    if (error instanceof UnwritablePaymentError) return error.event;
    throw error;
  }
  return undefined;
}

const USD = { currency: 'USD', amount: minorUnits(100n) };
const ADDRESS = { streetName: 'Uferstraße', buildingNumber: '4', postCode: '13357', townName: 'Berlin' };

describe('the content of a payment in a file', () => {
  it('is of SEPA in euros between accounts of the area, up to its largest amount', () => {
    expect(contentOf().serviceLevel).toBe('SEPA');
    expect(contentOf({ amount: minorUnits(99_999_999_999n) }).serviceLevel).toBe('SEPA');
    expect(contentOf({ amount: minorUnits(100_000_000_000n) }).serviceLevel).toBe('NURG');
    expect(contentOf(creditorOf({ account: 'AE070331234567890123456' })).serviceLevel).toBe('NURG');
    expect(contentOf(USD).serviceLevel).toBe('NURG');
    expect(['LOCAL', 'SWIFT'].map((payoutMethod) => contentOf({ payoutMethod }).serviceLevel)).toEqual([
      'SEPA',
      'NURG',
    ]);
  });

  it.each([
    ['USD', 'US', 'ACH CODE', '021000021', 'USABA'],
    ['GBP', 'GB', 'SORT CODE', '601613', 'GBDSC'],
    ['INR', 'IN', 'IFSC', 'HDFC0000001', 'INFSC'],
    ['CAD', 'CA', 'BRANCH CODE', '000305432', 'CACPA'],
    ['AUD', 'AU', 'BSB CODE', '062000', 'AUBSB'],
    ['CNY', 'CN', 'BANK CODE', '102100099996', 'CNAPS'],
    ['JPY', 'JP', 'BANK CODE', '0001001', 'JPZGN'],
    ['ZAR', 'ZA', 'BRANCH CODE', '250655', 'ZANCC'],
    ['NZD', 'NZ', 'BRANCH CODE', '010902', 'NZNCC'],
    ['HKD', 'HK', 'BANK CODE', '004', 'HKNCC'],
    ['SGD', 'SG', 'BANK CODE', '7171', 'SGIBG'],
    ['USD', 'HK', 'BANK CODE', '004', 'HKNCC'],
  ])(
    'names a bank of a payment in %s to %s by the member of its clearing system',
    (currency, bankCountry, type, code, system) => {
      const accounts = [{ ...config.accounts[1]!, currency }];
      const payment = filePayment(1, {
        ...{ currency, amount: minorUnits(100n) },
        ...creditorOf({ account: '12345678', bankCountry, routing: { type, code } }),
      });

      expect(contentInFile(payment, accounts, dialectOf(config)).creditor.agent).toEqual({
        ...{ clearingSystem: system, member: code },
      });
    },
  );

  it('names a bank of a system without a code by the routing code alone, and none by the key of a PIX payment', () => {
    const routed = (type: string, code: string) =>
      contentOf({ ...USD, ...creditorOf({ account: '12345678', routing: { type, code } }) }).creditor.agent;
    expect(routed('BANK CODE', '970436')).toEqual({ other: '970436' });
    expect(routed('PIX KEY', 'EMAIL')).toBeUndefined();
  });

  it('has a structured address, or town and country beside lines; a text alone is never sent', () => {
    const of = (creditor: Partial<Payment['creditor']>, addressForm: BankDialect['addressForm']) =>
      contentOf(creditorOf({ country: 'DE', address: 'Uferstraße 4, Berlin', ...creditor }), { addressForm }).creditor
        .address;
    expect(of({ postalAddress: ADDRESS }, 'structured')).toEqual({
      ...{ street: 'Uferstrase', building: '4', postCode: '13357', town: 'Berlin', country: 'DE' },
    });
    expect(of({ postalAddress: ADDRESS }, 'hybrid')).toEqual({
      ...{ postCode: '13357', town: 'Berlin', country: 'DE', lines: ['Uferstrase 4'] },
    });
    expect(of({ postalAddress: { townName: 'Berlin' } }, 'hybrid')).toMatchObject({ lines: ['Uferstrase 4, Berlin'] });
    expect([of({}, 'structured'), of({}, 'hybrid')]).toEqual([undefined, undefined]);
    expect(of({ postalAddress: ADDRESS, country: undefined }, 'structured')).toBeUndefined();
  });

  it('has a structured creditor reference where the description is one, and text else', () => {
    const of = (description: string | undefined) => {
      const { reference, remittance } = contentOf({ description });
      return { reference, remittance };
    };
    expect(of('RF18 5390 0754 7034')).toEqual({ reference: 'RF18539007547034' });
    expect(of('RF19 5390 0754 7034')).toEqual({ remittance: 'RF19 5390 0754 7034' });
    expect(of('x'.repeat(200)).remittance).toHaveLength(140);
    expect(of('发票')).toEqual({});
    expect(of(undefined)).toEqual({});
  });

  it('has a purpose of the list of ISO 20022, and no other', () => {
    const purposes = ['SALA', 'IR001', 'ABCD'].map((purpose) => contentOf({ purpose }).purpose);
    expect(purposes).toEqual(['SALA', undefined, undefined]);
  });

  it('has names within the limits of the scheme', () => {
    const long = creditorOf({ name: 'n'.repeat(140) });
    expect(contentOf(long).creditor.name).toHaveLength(70);
    expect(contentOf({ ...USD, ...long }).creditor.name).toHaveLength(140);
  });
});

describe('a payment that no file carries', () => {
  it.each([
    ['a name of another script', 'BE22', creditorOf({ name: '王小明' }), {}],
    ['a name that loses a third of its letters', 'BE22', creditorOf({ name: 'Li 王' }), {}],
    ['an account number with an underscore', 'AC03', creditorOf({ account: 'a_1' }), {}],
    ['an account number that is too long', 'AC03', creditorOf({ account: '1'.repeat(35) }), {}],
    ['a BIC that is none', 'RC07', creditorOf({ routing: { type: 'SWIFT', code: 'NOBIC' } }), {}],
    [
      'a BIC that the message cannot have',
      'RC07',
      creditorOf({ routing: { type: 'SWIFT', code: 'A1B2DEFF' } }),
      { message: 'pain.001.001.03' },
    ],
    ['no BIC where the bank needs one', 'RC07', creditorOf({ routing: undefined }), { bicRequired: true }],
    [
      'a routing code in another script',
      'RC10',
      { ...USD, ...creditorOf({ routing: { type: 'IFSC', code: '०१' } }) },
      {},
    ],
    ['an amount of 19 digits', 'AM12', { amount: minorUnits(10n ** 18n) }, {}],
  ] as const)('is rejected: %s', (_what, reasonCode, more, dialect) => {
    expect(rejectionOf(more as Partial<Payment>, dialect)).toEqual({
      ...{ providerEvent: 'submission', status: 'RJCT', reasonCode },
      message: expect.stringMatching(/^[A-Z].*\.$/),
    });
  });

  it('is for an operator if the rail has no account in its currency', () => {
    expect(() => contentOf({ currency: 'CHF' })).toThrow(/no account in the currency/);
  });
});

describe('a creditor reference of ISO 11649', () => {
  it('has right check digits', () => {
    expect(['RF18539007547034', 'RF712348231', 'RF81RF'].map(isCreditorReference)).toEqual([true, true, false]);
    expect(['RF18539007547035', 'RF', 'XX18539007547034'].map(isCreditorReference)).toEqual([false, false, false]);
  });
});
