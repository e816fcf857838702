import type { Source } from './source.js';

/** A bank as a recipient's details name it. */
export interface BankEntry {
  /** A literal, never computed, because recipients refer to it. A new bank takes the next number. */
  readonly id: number;
  readonly name: string;
  /** ISO 3166-1 alpha-2, and always the fifth and sixth letter of the BIC. */
  readonly countryCode: string;
  /** The eight-character BIC (ISO 9362): the bank, without a branch. */
  readonly swiftCode: string;
  /** India only: the four letters that begin the IFSC of every branch of this bank. */
  readonly ifscPrefix?: string;
}

/**
 * Written by hand and not compared with the SWIFT directory since. Use it to show the name of a bank, not to route money.
 */
export const BANKS_SOURCE: Source = {
  name: 'Public SWIFT/BIC directory entries as published by the banks themselves; IFSC prefixes as published by the Reserve Bank of India',
  date: '2026-11-21',
  kind: 'public',
};

export const BANKS: readonly BankEntry[] = [
  { id: 1, name: 'Deutsche Bank', countryCode: 'DE', swiftCode: 'DEUTDEFF' },
  { id: 2, name: 'Commerzbank', countryCode: 'DE', swiftCode: 'COBADEFF' },
  { id: 3, name: 'BNP Paribas', countryCode: 'FR', swiftCode: 'BNPAFRPP' },
  { id: 4, name: 'Société Générale', countryCode: 'FR', swiftCode: 'SOGEFRPP' },
  { id: 5, name: 'ING Bank', countryCode: 'NL', swiftCode: 'INGBNL2A' },
  { id: 6, name: 'ABN AMRO Bank', countryCode: 'NL', swiftCode: 'ABNANL2A' },
  { id: 7, name: 'Banco Santander', countryCode: 'ES', swiftCode: 'BSCHESMM' },
  { id: 8, name: 'Banco Bilbao Vizcaya Argentaria', countryCode: 'ES', swiftCode: 'BBVAESMM' },
  { id: 9, name: 'UniCredit', countryCode: 'IT', swiftCode: 'UNCRITMM' },
  { id: 10, name: 'Intesa Sanpaolo', countryCode: 'IT', swiftCode: 'BCITITMM' },
  { id: 11, name: 'KBC Bank', countryCode: 'BE', swiftCode: 'KREDBEBB' },
  { id: 12, name: 'UBS Switzerland', countryCode: 'CH', swiftCode: 'UBSWCHZH' },
  { id: 13, name: 'Barclays Bank', countryCode: 'GB', swiftCode: 'BARCGB22' },
  { id: 14, name: 'HSBC UK Bank', countryCode: 'GB', swiftCode: 'HBUKGB4B' },
  { id: 15, name: 'Lloyds Bank', countryCode: 'GB', swiftCode: 'LOYDGB2L' },
  { id: 16, name: 'JPMorgan Chase Bank', countryCode: 'US', swiftCode: 'CHASUS33' },
  { id: 17, name: 'Citibank', countryCode: 'US', swiftCode: 'CITIUS33' },
  { id: 18, name: 'Bank of America', countryCode: 'US', swiftCode: 'BOFAUS3N' },
  { id: 19, name: 'Royal Bank of Canada', countryCode: 'CA', swiftCode: 'ROYCCAT2' },
  { id: 20, name: 'MUFG Bank', countryCode: 'JP', swiftCode: 'BOTKJPJT' },
  { id: 21, name: 'Sumitomo Mitsui Banking Corporation', countryCode: 'JP', swiftCode: 'SMBCJPJT' },
  { id: 22, name: 'DBS Bank', countryCode: 'SG', swiftCode: 'DBSSSGSG' },
  { id: 23, name: 'The Hongkong and Shanghai Banking Corporation', countryCode: 'HK', swiftCode: 'HSBCHKHH' },
  { id: 24, name: 'Commonwealth Bank of Australia', countryCode: 'AU', swiftCode: 'CTBAAU2S' },
  { id: 25, name: 'HDFC Bank', countryCode: 'IN', swiftCode: 'HDFCINBB', ifscPrefix: 'HDFC' },
  { id: 26, name: 'ICICI Bank', countryCode: 'IN', swiftCode: 'ICICINBB', ifscPrefix: 'ICIC' },
  { id: 27, name: 'State Bank of India', countryCode: 'IN', swiftCode: 'SBININBB', ifscPrefix: 'SBIN' },
  { id: 28, name: 'Bank of the Philippine Islands', countryCode: 'PH', swiftCode: 'BOPIPHMM' },
  { id: 29, name: 'National Bank of Kuwait', countryCode: 'KW', swiftCode: 'NBOKKWKW' },
  { id: 30, name: 'Emirates NBD', countryCode: 'AE', swiftCode: 'EBILAEAD' },
  { id: 31, name: 'Banco do Brasil', countryCode: 'BR', swiftCode: 'BRASBRRJ' },
  { id: 32, name: 'SEB', countryCode: 'SE', swiftCode: 'ESSESESS' },
  { id: 33, name: 'DNB Bank', countryCode: 'NO', swiftCode: 'DNBANOKK' },
  { id: 34, name: 'PKO Bank Polski', countryCode: 'PL', swiftCode: 'BPKOPLPW' },
];

/** Eight characters for the bank, and three more where a branch is named. */
const BIC = /^[A-Za-z0-9]{4}[A-Za-z]{2}[A-Za-z0-9]{2}([A-Za-z0-9]{3})?$/;

/** Four letters for the bank, a zero, six characters for the branch. */
const IFSC = /^[A-Za-z]{4}0[A-Za-z0-9]{6}$/;

/**
 * The bank of a routing code, in any ASCII case. The branch part is ignored.
 *
 * Supports the types `SWIFT` and `IFSC`. Undefined for any other type, for a malformed code and for an unknown bank: a
 * name is never guessed.
 */
export function bankOf(routingCodeType: string, routingCode: string): BankEntry | undefined {
  const code = routingCode.toUpperCase();
  if (routingCodeType === 'SWIFT' && BIC.test(routingCode)) {
    return BANKS.find((bank) => bank.swiftCode === code.slice(0, 8));
  }
  if (routingCodeType === 'IFSC' && IFSC.test(routingCode)) {
    return BANKS.find((bank) => bank.ifscPrefix === code.slice(0, 4));
  }
  return undefined;
}
