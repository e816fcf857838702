import { validate as abaFits } from 'abavalidator';
import { ValidationErrorsIBAN, validateIBAN } from 'ibantools';
import type { BeneficiaryAccountType, Known, PayoutMethod } from '@banking/domain';
import { MISTYPED, type Fault, type Check, type Format, digits } from './format.js';
import type { Source } from '../source.js';
import { BR_STR, JPZGN, MX_SPEI } from './routing-sources.js';

/**
 * The rules that a pattern cannot express. Each takes a text that matches its pattern and, for NUBAN, the routing code.
 *
 * CLABE, CBU and NUBAN share one weighted sum with different weights. The library for CLABEs is not used, because it refuses
 * banks that it does not list.
 */
export const CHECKS: Readonly<Record<Check, (number: string, routingCode: string) => Fault | undefined>> = {
  iban: ibanFault,
  aba: (number) => (abaFits(number) ? undefined : MISTYPED),
  clabe: (number) => unless(number.at(-1) === tensComplement(number.slice(0, -1), '371')),
  cbu: (number) =>
    unless(
      number.at(7) === tensComplement(number.slice(0, 7), '7139713') &&
        number.at(-1) === tensComplement(number.slice(8, -1), '3971397139713'),
    ),
  // The standard of 2011 includes the three digits of the bank. Longer codes belong to institutions outside of it.
  nuban: (number, routingCode) =>
    unless(routingCode.length !== 3 || number.at(-1) === tensComplement(routingCode + number.slice(0, -1), '373')),
  rib: (number) => unless(BigInt(number) % 97n === 0n),
  cpf: (number) => unless(number === withElevens(number.slice(0, 9), 11) && new Set(number).size > 1),
  cnpj: (number) => unless(number === withElevens(number.slice(0, 12), 9) && new Set(number).size > 1),
};

function unless(fits: boolean): Fault | undefined {
  return fits ? undefined : MISTYPED;
}

/** The digit that completes the weighted sum to a multiple of ten. The weights are digits, and repeat. */
function tensComplement(digits: string, weights: string): string {
  const sum = [...digits].reduce(
    (total, digit, index) => total + Number(digit) * Number(weights[index % weights.length]),
    0,
  );
  return String((10 - (sum % 10)) % 10);
}

/**
 * A CPF or CNPJ with its two correct check digits: modulo 11 with weights 2, 3, … from the right, repeated after
 * `weightMax`. A letter counts as its ASCII code less 48 (Receita Federal, for CNPJs since July 2026).
 */
function withElevens(body: string, weightMax: number): string {
  let text = body;
  for (let round = 0; round < 2; round += 1) {
    const fromRight = [...text].reverse();
    const sum = fromRight.reduce((total, char, index) => {
      return total + (char.charCodeAt(0) - 48) * ((index % (weightMax - 1)) + 2);
    }, 0);
    text += sum % 11 < 2 ? '0' : String(11 - (sum % 11));
  }
  return text;
}

const NATIONAL: Fault = {
  reason: 'national_check_digits',
  message:
    'is a well-formed IBAN around an account number that its country does not issue: the national check digits do not fit.',
};

/** SIX, Swiss QR bill: the bank refuses a payment to a QR-IBAN without a reference, and a recipient has no field for one. */
const QR: Fault = {
  reason: 'qr_iban',
  message: 'is a QR-IBAN, which takes only payments with a QR reference: ask for the ordinary IBAN of the account.',
};

/**
 * Checks the two digits of ISO 7064 MOD 97-10 against the one pair that is issued: a pair that differs by 97 would divide
 * too. The library then checks the national rules. Our check comes first, because the library refuses the letters that the
 * registry allows for Pakistan and the Dominican Republic.
 */
function ibanFault(iban: string): Fault | undefined {
  const digits = [...`${iban.slice(4)}${iban.slice(0, 2)}00`].map((char) => parseInt(char, 36)).join('');
  const due = String(98n - (BigInt(digits) % 97n)).padStart(2, '0');
  if (iban.slice(2, 4) !== due) return MISTYPED;

  const { errorCodes } = validateIBAN(iban, { allowQRIBAN: false });
  if (errorCodes.includes(ValidationErrorsIBAN.WrongAccountBankBranchChecksum)) return NATIONAL;
  return errorCodes.includes(ValidationErrorsIBAN.QRIBANNotAllowed) ? QR : undefined;
}

const DICT: Source = {
  name: 'Banco Central do Brasil, API of the DICT: the kinds of PIX key and how each is written',
  date: '2026-11-21',
  kind: 'public',
};

/** One kind of PIX key, by its name in the DICT. */
interface PixKey {
  readonly kind: 'CPF' | 'CNPJ' | 'PHONE' | 'EMAIL' | 'EVP';
  readonly heldBy: readonly Known<BeneficiaryAccountType>[];
  readonly key: Format;
}

/**
 * A key replaces the account number and identifies the bank. Its kind is sent as well, because eleven digits may be a CPF, a
 * telephone number or an account. CNPJs may contain letters since July 2026.
 */
export const PIX_KEYS: readonly PixKey[] = [
  pix('CPF', ['Individual'], {
    rule: '11 digits, without dots and hyphen',
    pattern: '^[0-9]{11}$',
    example: '12345678909',
    check: 'cpf',
  }),
  pix('CNPJ', ['Corporate'], {
    rule: '14 characters in capitals: 12 letters or digits, then 2 check digits, without dots, slash and hyphen',
    pattern: '^[A-Z0-9]{12}[0-9]{2}$',
    example: '00038166000105',
    check: 'cnpj',
  }),
  pix('PHONE', ['Individual', 'Corporate'], {
    rule: 'a plus sign, the country code and the number, 15 digits at most, without spaces or hyphens',
    pattern: '^\\+[1-9][0-9]{6,14}$',
    example: '+5561988880000',
  }),
  pix('EMAIL', ['Individual', 'Corporate'], {
    rule: 'at most 77 characters, in small letters',
    pattern: "^[a-z0-9.!#$%&'*+/=?^_`\\{\\|\\}~\\-]{1,64}@[a-z0-9\\-]+(?:\\.[a-z0-9\\-]+){1,8}$",
    maxLength: 77,
    example: 'contato@example.com.br',
  }),
  pix('EVP', ['Individual', 'Corporate'], {
    rule: 'the random key of 36 characters, in small letters and with its hyphens',
    pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    example: '123e4567-e89b-12d3-a456-426655440000',
  }),
];

function pix(kind: PixKey['kind'], heldBy: PixKey['heldBy'], format: Omit<Format, 'name' | 'source'>): PixKey {
  return { kind, heldBy, key: { ...format, name: `PIX key, ${kind}`, source: DICT } };
}

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
