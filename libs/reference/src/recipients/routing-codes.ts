import type { Known, RoutingCodeType } from '@banking/domain';
import {
  AUBSB,
  BEFTN,
  BR_STR,
  CACPA,
  CL_CMF,
  CNAPS,
  GBDSC,
  HKNCC,
  ID_SKN,
  INFSC,
  JPZGN,
  KE_CBK,
  KR_KFTC,
  LK_CLEAR,
  MX_SPEI,
  NGBCS,
  NZNCC,
  SGIBG,
  THCBC,
  TWNCC,
  USABA,
  VN_NAPAS,
  ZANCC,
} from './routing-sources.js';
import { bankAndBranch, digits, type Format } from './format.js';
import { bicFormatOf } from './iban-formats.js';

const ABA: Format = {
  name: 'ABA routing number',
  rule: '9 digits, of which the first two are 00 to 12, 21 to 32, 61 to 72 or 80, without spaces or hyphens',
  pattern: '^(?:0[0-9]|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)[0-9]{7}$',
  example: '021000021',
  check: 'aba',
  source: USABA,
};

const IFSC: Format = {
  name: 'IFSC',
  rule: '11 characters in capitals: 4 letters for the bank, a zero, 6 letters or digits for the branch',
  pattern: '^[A-Z]{4}0[A-Z0-9]{6}$',
  example: 'HDFC0000001',
  source: INFSC,
};

const CA_ROUTING: Format = {
  name: 'Canadian routing number',
  rule: '9 digits: a zero, 3 for the institution, 5 for the transit, without hyphens',
  pattern: '^0[0-9]{8}$',
  example: '000305432',
  source: CACPA,
};

const NG_BANK: Format = {
  name: 'Nigerian bank code',
  rule: '3 digits for the bank, 6 for its number in the instant scheme or 9 for its sort code, without hyphens',
  pattern: '^[0-9]{3}(?:[0-9]{3}|[0-9]{6})?$',
  example: '011',
  source: NGBCS,
};

/** The formats of national routing codes, by country and type. */
const CODES: Readonly<Record<string, Format>> = {
  'AU BSB CODE': digits('BSB', 6, 6, '062000', AUBSB),
  'BD BRANCH CODE': digits('Bangladeshi routing number', 9, 9, '090261234', BEFTN),
  'BR BRANCH CODE': {
    ...digits('Bank and branch', 7, 7, '0010001', BR_STR),
    rule: '7 digits: 3 for the bank, 4 for the agência without its check digit, without hyphens',
  },
  'CA BRANCH CODE': CA_ROUTING,
  'CL BANK CODE': digits('Chilean bank code', 3, 3, '037', CL_CMF),
  'CN BANK CODE': digits('CNAPS code', 12, 12, '102100099996', CNAPS),
  'GB SORT CODE': digits('Sort code', 6, 6, '601613', GBDSC),
  'HK BANK CODE': digits('Hong Kong bank code', 3, 3, '004', HKNCC),
  'ID BANK CODE': bankAndBranch('Indonesian bank code', 3, 4, '014', ID_SKN),
  'IN IFSC': IFSC,
  'JP BANK CODE': {
    ...digits('Zengin code', 7, 7, '0001001', JPZGN),
    rule: '7 digits: 4 for the bank, 3 for the branch',
  },
  'KE BANK CODE': {
    ...digits('Kenyan bank code', 5, 5, '01100', KE_CBK),
    rule: '5 digits: 2 for the bank, 3 for the branch',
  },
  'KR BANK CODE': bankAndBranch('Korean bank code', 3, 4, '004', KR_KFTC),
  'LK BANK CODE': {
    ...digits('Sri Lankan bank code', 7, 7, '7056001', LK_CLEAR),
    rule: '7 digits: 4 for the bank, 3 for the branch',
  },
  'MX BANK CODE': {
    ...digits('Mexican bank code', 3, 3, '032', MX_SPEI),
    rule: '3 digits, the first three of the CLABE',
  },
  'NG BANK CODE': NG_BANK,
  'NZ BRANCH CODE': {
    ...digits('Bank and branch', 6, 6, '010902', NZNCC),
    rule: '6 digits: 2 for the bank, 4 for the branch',
  },
  'SG BANK CODE': bankAndBranch('Singapore bank code', 4, 3, '7171', SGIBG),
  'TH BANK CODE': digits('Thai bank code', 3, 3, '002', THCBC),
  'TW BANK CODE': bankAndBranch('Taiwanese bank code', 3, 4, '004', TWNCC),
  'US ACH CODE': ABA,
  'VN BANK CODE': digits('Bank identification number', 6, 6, '970436', VN_NAPAS),
  'ZA BRANCH CODE': digits('South African branch code', 6, 6, '250655', ZANCC),
};

/** The format of a routing code by country and type; undefined for a type that the country does not have. */
export function routingCodeOf(alpha2: string, type: Known<RoutingCodeType>): Format | undefined {
  if (type === 'SWIFT') return bicFormatOf(alpha2);
  const key = `${alpha2} ${type}`;
  return Object.hasOwn(CODES, key) ? CODES[key] : undefined;
}
