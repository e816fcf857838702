import type { Known, PayoutMethod } from '@banking/domain';
import { BR_STR, JPZGN, MX_SPEI } from '../corridors/routing-sources.js';
import type { Source } from '../source.js';
import { digits, type Format } from './format.js';

const DAY = '2026-11-21';

const BECS = standard('Australian Payments Network, BECS procedures: account numbers of up to nine digits');
const CBN = standard('Central Bank of Nigeria, Nigeria Uniform Bank Account Number (NUBAN)');
const BCRA = standard('Banco Central de la República Argentina, Clave Bancaria Uniforme (CBU)');
const MAROC = standard('Bank Al-Maghrib, relevé d’identité bancaire (RIB) of 24 digits');
const NACHA = standard('Nacha operating rules, DFI account number of at most 17 characters');
const PAY_UK = standard('Pay.UK, sort code and account number of eight digits');
const PAYMENTS_CA = standard('Payments Canada, standard 005: account numbers of at most 12 digits');
const PAYMENTS_NZ = standard('Payments NZ, bank account numbers: seven digits and a suffix of two or three');

/**
 * The lengths in use, with a margin, for account numbers without a standard. Refusing a valid number is worse than a payment
 * that the bank returns, so widen a range before you narrow it.
 */
const IN_USE: Source = {
  name: 'Lengths in use at the banks of the country; no public standard',
  date: DAY,
  kind: 'demo',
};

/** For countries without a common format: the maximum of a payment message. */
const ANY: Format = {
  name: 'Account number',
  rule: '4 to 34 digits or capital letters, without spaces or hyphens',
  pattern: '^[A-Z0-9]{4,34}$',
  example: '0012003400567',
  source: standard('ISO 20022, Max34Text for an account that is no IBAN; the country has no standard of its own'),
};

const CLABE: Format = { ...digits('CLABE', 18, 18, '032180000118359719', MX_SPEI), check: 'clabe' };
const NUBAN: Format = { ...digits('NUBAN', 10, 10, '0000014579', CBN), check: 'nuban' };

/** Account numbers of countries and routes without an IBAN. Over SWIFT some contain the branch, which has no field of its own. */
const ACCOUNTS: Readonly<Record<string, Readonly<Partial<Record<PayoutMethod, Format>>>>> = {
  AM: both(account(11, 16, '2050022340651001')),
  AR: { SWIFT: { ...digits('CBU', 22, 22, '2850590940090418135201', BCRA), check: 'cbu' } },
  AU: {
    LOCAL: account(5, 9, '12345678', BECS),
    SWIFT: { ...account(5, 15, '06200012345678', BECS), name: 'Account number, with or without the BSB before it' },
  },
  BD: both(account(8, 17, '1503201234567001')),
  BR: {
    LOCAL: {
      ...account(1, 20, '1234567', BR_STR),
      rule: '1 to 20 digits with the check digit at the end and 0 for an X, without spaces or hyphens',
    },
  },
  CA: both(account(5, 12, '1234567', PAYMENTS_CA)),
  CL: both(account(5, 20, '001234567890')),
  CN: both(account(8, 32, '6222021234567890123')),
  CO: both(ANY),
  FJ: both(ANY),
  GB: { LOCAL: account(8, 8, '31926819', PAY_UK) },
  GH: both(ANY),
  HK: both({ ...account(9, 12, '123456789838'), name: 'Account number with its branch, without the bank code' }),
  ID: both(account(8, 20, '1234567890')),
  IN: both(account(9, 18, '50100123456789')),
  JP: {
    LOCAL: account(7, 7, '0123456', JPZGN),
    SWIFT: { ...account(7, 10, '0010123456', JPZGN), name: 'Account number, with or without the branch before it' },
  },
  KE: both(account(6, 16, '1234567890123')),
  KR: both(account(10, 16, '12345678901234')),
  LK: both(account(6, 15, '123456789012')),
  MA: { SWIFT: { ...digits('RIB', 24, 24, '011519000001205000534921', MAROC), check: 'rib' } },
  MX: both(CLABE),
  MY: both(account(7, 17, '114012345678')),
  NG: both(NUBAN),
  NP: both(ANY),
  NZ: {
    LOCAL: {
      ...account(9, 10, '123456700', PAYMENTS_NZ),
      name: 'Account number with its suffix, without bank and branch',
    },
    SWIFT: { ...account(15, 16, '010902123456700', PAYMENTS_NZ), name: 'Account number with bank, branch and suffix' },
  },
  PA: both(ANY),
  PE: both(ANY),
  PH: both(account(6, 19, '1234567890')),
  SG: both(account(6, 14, '0012345678')),
  TH: both(account(10, 15, '1234567890')),
  TW: both(account(9, 16, '123456789012')),
  TZ: both(ANY),
  UG: both(ANY),
  US: both(account(4, 17, '1234567890', NACHA)),
  UY: both(ANY),
  VN: both({
    ...ANY,
    rule: '6 to 19 digits or capital letters, without spaces',
    pattern: '^[A-Z0-9]{6,19}$',
    source: IN_USE,
  }),
  ZA: both(account(7, 11, '62001234567')),
};

/** The format of account numbers in a country by payout method; undefined for an unknown country. */
export function accountFormatOf(alpha2: string, method: Known<PayoutMethod>): Format | undefined {
  return Object.hasOwn(ACCOUNTS, alpha2) ? ACCOUNTS[alpha2]?.[method] : undefined;
}

function account(from: number, to: number, example: string, source = IN_USE): Format {
  return digits('Account number', from, to, example, source);
}

function both(format: Format): Record<PayoutMethod, Format> {
  return { LOCAL: format, SWIFT: format };
}

function standard(name: string): Source {
  return { name, date: DAY, kind: 'public' };
}
