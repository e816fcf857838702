import { countryOf } from '../countries.js';
import { IBAN_REGISTRY, ISO_9362 } from './routing-sources.js';
import { BANKS } from '../banks.js';
import type { Format } from './format.js';

/**
 * The BBAN of each country in the registry's own notation, and the registry's own example. `18!n` is eighteen digits,
 * `4!a` four capital letters, `16!c` sixteen letters or digits.
 *
 * Written by hand from IBAN_REGISTRY. A missing country has no IBAN in the registry; its account numbers are in
 * `accounts.ts`.
 */
const REGISTRY: Readonly<Record<string, readonly [bban: string, example: string]>> = {
  AD: ['4!n4!n12!c', 'AD1200012030200359100100'],
  AE: ['3!n16!n', 'AE070331234567890123456'],
  AL: ['8!n16!c', 'AL47212110090000000235698741'],
  AT: ['5!n11!n', 'AT611904300234573201'],
  BA: ['3!n3!n8!n2!n', 'BA391290079401028494'],
  BE: ['3!n7!n2!n', 'BE68539007547034'],
  BG: ['4!a4!n2!n8!c', 'BG80BNBG96611020345678'],
  BH: ['4!a14!c', 'BH67BMAG00001299123456'],
  BR: ['8!n5!n10!n1!a1!c', 'BR1800360305000010009795493C1'],
  CH: ['5!n12!c', 'CH9300762011623852957'],
  CR: ['4!n14!n', 'CR05015202001026284066'],
  CY: ['3!n5!n16!c', 'CY17002001280000001200527600'],
  CZ: ['4!n6!n10!n', 'CZ6508000000192000145399'],
  DE: ['8!n10!n', 'DE89370400440532013000'],
  DK: ['4!n9!n1!n', 'DK5000400440116243'],
  DO: ['4!c20!n', 'DO28BAGR00000001212453611324'],
  EE: ['2!n2!n11!n1!n', 'EE382200221020145685'],
  EG: ['4!n4!n17!n', 'EG380019000500000000263180002'],
  ES: ['4!n4!n1!n1!n10!n', 'ES9121000418450200051332'],
  FI: ['3!n11!n', 'FI2112345600000785'],
  FR: ['5!n5!n11!c2!n', 'FR1420041010050500013M02606'],
  GB: ['4!a6!n8!n', 'GB29NWBK60161331926819'],
  GE: ['2!a16!n', 'GE29NB0000000101904917'],
  GR: ['3!n4!n16!c', 'GR1601101250000000012300695'],
  HR: ['7!n10!n', 'HR1210010051863000160'],
  HU: ['3!n4!n1!n15!n1!n', 'HU42117730161111101800000000'],
  IE: ['4!a6!n8!n', 'IE29AIBK93115212345678'],
  IL: ['3!n3!n13!n', 'IL620108000000099999999'],
  IS: ['4!n2!n6!n10!n', 'IS140159260076545510730339'],
  IT: ['1!a5!n5!n12!c', 'IT60X0542811101000000123456'],
  JO: ['4!a4!n18!c', 'JO94CBJO0010000000000131000302'],
  KW: ['4!a22!c', 'KW81CBKU0000000000001234560101'],
  KZ: ['3!n13!c', 'KZ86125KZT5004100100'],
  LI: ['5!n12!c', 'LI21088100002324013AA'],
  LT: ['5!n11!n', 'LT121000011101001000'],
  LU: ['3!n13!c', 'LU280019400644750000'],
  LV: ['4!a13!c', 'LV80BANK0000435195001'],
  MC: ['5!n5!n11!c2!n', 'MC5811222000010123456789030'],
  MD: ['2!c18!c', 'MD24AG000225100013104168'],
  ME: ['3!n13!n2!n', 'ME25505000012345678951'],
  MK: ['3!n10!c2!n', 'MK07250120000058984'],
  MT: ['4!a5!n18!c', 'MT84MALT011000012345MTLCAST001S'],
  MU: ['4!a2!n2!n12!n3!n3!a', 'MU17BOMM0101101030300200000MUR'],
  NL: ['4!a10!n', 'NL91ABNA0417164300'],
  NO: ['4!n6!n1!n', 'NO9386011117947'],
  OM: ['3!n16!c', 'OM810180000001299123456'],
  PK: ['4!a16!c', 'PK36SCBL0000001123456702'],
  PL: ['8!n16!n', 'PL61109010140000071219812874'],
  PT: ['4!n4!n11!n2!n', 'PT50000201231234567890154'],
  QA: ['4!a21!c', 'QA58DOHB00001234567890ABCDEFG'],
  RO: ['4!a16!c', 'RO49AAAA1B31007593840000'],
  RS: ['3!n13!n2!n', 'RS35260005601001611379'],
  SA: ['2!n18!c', 'SA0380000000608010167519'],
  SE: ['3!n16!n1!n', 'SE4550000000058398257466'],
  SI: ['5!n8!n2!n', 'SI56263300012039086'],
  SK: ['4!n6!n10!n', 'SK3112000000198742637541'],
  SM: ['1!a5!n5!n12!c', 'SM86U0322509800000000270100'],
  TN: ['2!n3!n13!n2!n', 'TN5910006035183598478831'],
  TR: ['5!n1!n16!c', 'TR330006100519786457841326'],
  UA: ['6!n19!c', 'UA213223130000026007233566001'],
  VA: ['3!n15!n', 'VA59001123000012345678'],
};

/**
 * Countries whose banks may have the BIC of another country. The registry names the territories that use the IBAN of GB and
 * FR. The banks of Monaco clear in France, and some have no BIC of Monaco.
 */
const BIC_COUNTRIES: Readonly<Record<string, readonly string[]>> = {
  FR: ['FR', 'BL', 'GF', 'GP', 'MF', 'MQ', 'NC', 'PF', 'PM', 'RE', 'TF', 'WF', 'YT'],
  GB: ['GB', 'GG', 'IM', 'JE'],
  MC: ['MC', 'FR'],
};

const CLASSES: Readonly<Record<string, readonly [pattern: string, words: string]>> = {
  n: ['[0-9]', 'digits'],
  a: ['[A-Z]', 'letters'],
  c: ['[A-Z0-9]', 'letters or digits'],
};

/** The format of the IBAN of a country; undefined without one in the registry. */
export function ibanFormatOf(alpha2: string): Format | undefined {
  const entry = Object.hasOwn(REGISTRY, alpha2) ? REGISTRY[alpha2] : undefined;
  if (entry === undefined) return undefined;

  const [bban, example] = entry;
  const parts = partsOf(bban);
  const country = countryOf(alpha2)?.name ?? alpha2;
  const words = parts.map(({ length, kind }) => `${length} ${CLASSES[kind]?.[1]}`).join(', ');
  return {
    name: `IBAN of ${country}`,
    rule: `${example.length} characters in capitals and without spaces: ${alpha2}, 2 check digits, ${words}`,
    pattern: `^${alpha2}[0-9]{2}${parts.map(({ length, kind }) => `${CLASSES[kind]?.[0]}{${length}}`).join('')}$`,
    example,
    check: 'iban',
    source: IBAN_REGISTRY,
  };
}

/** The format of a BIC in a country. The example is the BIC of a real bank if `BANKS` has one. */
export function bicFormatOf(alpha2: string): Format {
  const countries = BIC_COUNTRIES[alpha2] ?? [alpha2];
  const country = countries.length === 1 ? alpha2 : `(?:${countries.join('|')})`;
  return {
    name: 'BIC (SWIFT code)',
    rule: `8 characters for the bank, or 11 with its branch, in capitals and without spaces; the fifth and sixth are ${countries.join(', ')}`,
    pattern: `^[A-Z0-9]{4}${country}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$`,
    example: BANKS.find(({ countryCode }) => countryCode === alpha2)?.swiftCode ?? `BANK${alpha2}22`,
    source: ISO_9362,
  };
}

/** Joins adjacent parts of one kind: `3!n7!n2!n` is twelve digits. */
function partsOf(bban: string): { length: number; kind: string }[] {
  const parts: { length: number; kind: string }[] = [];
  for (const [, length = '', kind = ''] of bban.matchAll(/([0-9]+)!([nac])/g)) {
    const last = parts.at(-1);
    if (last?.kind === kind) last.length += Number(length);
    else parts.push({ length: Number(length), kind });
  }
  return parts;
}
