import type { Source } from '../source.js';

/** Every SWIFT payout names the bank by its BIC. */
export const ISO_9362 = source('ISO 9362:2022, business identifier code (BIC)', '2022');

/**
 * For routes with an IBAN and a BIC. The registry lists the countries with an IBAN, and its structure.
 */
export const IBAN_REGISTRY = source('SWIFT, IBAN registry (ISO 13616), release 103', '2026-09');

/** The 41 countries of SEPA, the latest of them Serbia. */
export const SEPA_SCOPE = source('European Payments Council, geographical scope of the SEPA schemes', '2025-05-22');
export const SEPA_COUNTRIES: readonly string[] = [
  ...[
    'AD',
    'AL',
    'AT',
    'BE',
    'BG',
    'CH',
    'CY',
    'CZ',
    'DE',
    'DK',
    'EE',
    'ES',
    'FI',
    'FR',
    'GB',
    'GR',
    'HR',
    'HU',
    'IE',
    'IS',
  ],
  ...[
    'IT',
    'LI',
    'LT',
    'LU',
    'LV',
    'MC',
    'MD',
    'ME',
    'MK',
    'MT',
    'NL',
    'NO',
    'PL',
    'PT',
    'RO',
    'RS',
    'SE',
    'SI',
    'SK',
    'SM',
    'VA',
  ],
];

/** National clearing codes of the ISO 20022 external code set. */
export const AUBSB = clearing('AUBSB, Australian Bank State Branch code');
export const BEFTN = clearing('BEFTN, Bangladesh Electronic Funds Transfer Network');
export const CACPA = clearing('CACPA, Canadian payment routing number');
export const CNAPS = clearing('CNAPS, China National Advanced Payment System');
export const GBDSC = clearing('GBDSC, UK domestic sort code');
export const HKNCC = clearing('HKNCC, Hong Kong bank code');
export const INFSC = clearing('INFSC, Indian Financial System Code');
export const JPZGN = clearing('JPZGN, Japan Zengin clearing code');
export const NGBCS = clearing('NGBCS, Nigerian Bank Clearing System');
export const NZNCC = clearing('NZNCC, New Zealand national clearing code');
export const SGIBG = clearing('SGIBG, Singapore interbank clearing code');
export const THCBC = clearing('THCBC, Thai central bank identification code');
export const TWNCC = clearing('TWNCC, Taiwan financial institution code');
export const USABA = clearing('USABA, United States routing number');
export const ZANCC = clearing('ZANCC, South African national clearing code');

/** Clearing systems outside of the ISO list, described by their operators. */
export const BR_STR = source('Banco Central do Brasil, STR participants: bank and branch (agência)', '2026-11-21');
export const CL_CMF = source('Comisión para el Mercado Financiero, bank codes of Chile', '2026-11-21');
export const ID_SKN = source('Bank Indonesia, SKNBI bank codes', '2026-11-21');
export const KE_CBK = source('Central Bank of Kenya, bank and branch codes', '2026-11-21');
export const KR_KFTC = source('Korea Financial Telecommunications & Clearings Institute, bank codes', '2026-11-21');
export const LK_CLEAR = source('LankaPay, bank and branch codes of Sri Lanka', '2026-11-21');
export const MX_SPEI = source('Banco de México, SPEI participants: the bank in front of every CLABE', '2026-11-21');
export const VN_NAPAS = source('NAPAS, bank identification numbers of Vietnam', '2026-11-21');

function clearing(entry: string): Source {
  return source(`ISO 20022 external code set ExternalClearingSystemIdentification1Code: ${entry}`, '2021-08-27');
}

function source(name: string, date: string): Source {
  return { name, date, kind: 'public' };
}
