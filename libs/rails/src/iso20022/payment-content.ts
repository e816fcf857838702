import { decimalsOf } from '@banking/domain';
import type { PaymentContent, PostalAddress, RailEvent } from '@banking/payouts';
import { SEPA_COUNTRIES } from '@banking/reference';
import { WorkError } from '@banking/work-queue';
import { isValidBIC, isValidIBAN } from 'ibantools';
import type { BankAccount, BankDialect } from '../rail-config.js';
import { isRecognizable, shortened, transliterate } from './characters.js';

/** What a file says of a payment, in the characters and lengths of its elements, beside its id, amount and currency. */
export interface PaymentContentInFile {
  readonly serviceLevel: 'SEPA' | 'NURG';
  readonly debtor: Party & { readonly bic: string };
  readonly creditor: Party & { readonly agent?: Agent | undefined };
  /** ISO 20022 ExternalPurpose1Code. */
  readonly purpose?: string | undefined;
  /** A structured creditor reference (ISO 11649), or else unstructured text. */
  readonly reference?: string | undefined;
  readonly remittance?: string | undefined;
}

/** A party with its account. */
export interface Party {
  readonly name: string;
  readonly account: string;
  readonly isIban: boolean;
  readonly address?: Address | undefined;
}

/** `PstlAdr`: either in elements, or town and country beside lines of text. */
export interface Address {
  readonly street?: string | undefined;
  readonly building?: string | undefined;
  readonly postCode?: string | undefined;
  readonly town: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  readonly lines?: readonly string[] | undefined;
}

/** How a bank is named: by its BIC, as a member of a clearing system, or by a code of a system that ISO 20022 does not list. */
export type Agent =
  { readonly bic: string } | { readonly clearingSystem: string; readonly member: string } | { readonly other: string };

/** The name of a party: the limit of SEPA (EPC132-08, 2023, AT-E001), and Max140Text. */
const NAME_MAX = { SEPA: 70, NURG: 140 } as const;

const REMITTANCE_MAX = 140;

/** ISO 20022 PostalAddress24 and PostalAddress6. */
const ADDRESS_MAX = { street: 70, building: 16, postCode: 16, town: 35, line: 70 } as const;

/** The largest amount of a SEPA credit transfer: 999,999,999.99 EUR (EPC132-08, 2023, AT-T002). */
const SEPA_AMOUNT_MAX = 99_999_999_999n;

/** ISO 20022 ActiveOrHistoricCurrencyAndAmount: 18 digits and five decimals. */
const AMOUNT_DIGITS_MAX = 18;

/** The form of a BIC that `pain.001.001.03` allows (BICIdentifier). */
const OLD_BIC = /^[A-Z]{6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3})?$/;

/** An account number that is no IBAN (Max34Text). An underscore makes banks refuse a file. */
const OTHER_ACCOUNT = /^(?=[ -~]{1,34}$)(?! )(?!.* $)[^_]+$/;

/** A payment that no file can carry: its money goes back. */
export class UnwritablePaymentError extends Error {
  override readonly name = 'UnwritablePaymentError';

  /** @param reasonCode ISO 20022 ExternalStatusReason1Code @param message in words for customers */
  constructor(
    readonly reasonCode: string,
    message: string,
  ) {
    super(message);
  }

  get event(): RailEvent {
    return { providerEvent: 'submission', status: 'RJCT', reasonCode: this.reasonCode, message: this.message };
  }
}

/**
 * What the file of a bank says of a payment.
 *
 * @throws UnwritablePaymentError for a payment that it cannot carry @throws WorkError without an account in the currency
 */
export function contentInFile(
  payment: PaymentContent,
  accounts: readonly BankAccount[],
  dialect: BankDialect,
): PaymentContentInFile {
  const { amount, currency, creditor, description = '', purpose } = payment;
  const account = accounts.find((one) => one.currency === currency);
  if (!account) throw new WorkError('the rail has no account in the currency of the payment: add it to RAILS_FILE');
  if (amount.toString().length > AMOUNT_DIGITS_MAX || decimalsOf(currency) > 5) {
    throw new UnwritablePaymentError('AM12', 'The amount has more digits than a payment file can carry.');
  }
  const isIban = isValidIBAN(creditor.account);
  if (!isIban && !OTHER_ACCOUNT.test(creditor.account)) {
    throw new UnwritablePaymentError(
      'AC03',
      'The account number has characters or a length that no bank file carries.',
    );
  }
  const isSepa =
    currency === 'EUR' &&
    payment.payoutMethod !== 'SWIFT' &&
    amount <= SEPA_AMOUNT_MAX &&
    [creditor.account, account.id].every((id) => isValidIBAN(id) && SEPA_COUNTRIES.includes(id.slice(0, 2)));
  const serviceLevel = isSepa ? 'SEPA' : 'NURG';
  if (!isRecognizable(creditor.name)) {
    throw new UnwritablePaymentError(
      'BE22',
      'The name of the recipient cannot be written in Latin letters. Write it so.',
    );
  }
  const name = (text: string) => shortened(transliterate(text), NAME_MAX[serviceLevel]);
  return {
    serviceLevel,
    debtor: {
      ...{ name: name(account.holder), account: account.id, isIban: account.isIban, bic: account.bic },
      address: addressOf(account.holderAddress, account.holderAddress?.country, undefined, dialect),
    },
    creditor: {
      ...{ name: name(creditor.name), account: creditor.account, isIban, agent: agentOf(payment, dialect) },
      address: addressOf(creditor.postalAddress, creditor.country, creditor.address, dialect),
    },
    purpose: purpose !== undefined && isExternalPurpose(purpose) ? purpose : undefined,
    ...remittanceOf(description),
  };
}

/** Why the file of a bank cannot carry a payment, in words for customers; undefined if it can. */
export function faultInFile(...[payment, accounts, dialect]: Parameters<typeof contentInFile>): string | undefined {
  try {
    contentInFile(payment, accounts, dialect);
    return undefined;
  } catch (error) {
    if (error instanceof UnwritablePaymentError) return error.message;
    throw error;
  }
}

function agentOf({ creditor: { routing, bankCountry } }: PaymentContent, { message, bicRequired }: BankDialect) {
  const isBic = routing?.type === 'SWIFT';
  if (isBic && isValidBIC(routing.code) && (message !== 'pain.001.001.03' || OLD_BIC.test(routing.code))) {
    return { bic: routing.code };
  }
  if (isBic) throw new UnwritablePaymentError('RC07', 'The BIC of the recipient’s bank is not one. Correct it.');
  if (bicRequired) throw new UnwritablePaymentError('RC07', 'The bank needs the BIC of the recipient’s bank.');
  // The key of a PIX payment is the account, and its type no bank.
  if (routing === undefined || routing.type === 'PIX KEY') return undefined;
  const clearingSystem = clearingSystemOf(routing.type, bankCountry);
  const member = transliterate(routing.code);
  if (member === '' || member !== routing.code || member.length > 35) {
    throw new UnwritablePaymentError(
      'RC10',
      'The code of the recipient’s bank has characters that no bank file carries.',
    );
  }
  return clearingSystem === undefined ? { other: member } : { clearingSystem, member };
}

/**
 * Town and country are needed in every form (SWIFT and EPC, since November 2026), so an address without them is left out, and a text alone
 * is never sent.
 *
 * @param text the address as the recipient has it
 */
function addressOf(
  address: PostalAddress | undefined,
  country: string | undefined,
  text: string | undefined,
  { addressForm }: BankDialect,
): Address | undefined {
  const part = (value: string | undefined, lengthMax: number) =>
    (value !== undefined && shortened(transliterate(value), lengthMax)) || undefined;
  const town = part(address?.townName, ADDRESS_MAX.town);
  if (!address || town === undefined || country === undefined) return undefined;
  const postCode = part(address.postCode, ADDRESS_MAX.postCode);
  if (addressForm === 'structured') {
    const street = part(address.streetName, ADDRESS_MAX.street);
    return { street, building: part(address.buildingNumber, ADDRESS_MAX.building), postCode, town, country };
  }
  const written = [address.streetName, address.buildingNumber].filter((value) => value !== undefined).join(' ');
  const all = transliterate(written === '' ? (text ?? '') : written);
  const lines = [all.slice(0, ADDRESS_MAX.line), all.slice(ADDRESS_MAX.line)].map((one) => part(one, ADDRESS_MAX.line));
  return { postCode, town, country, lines: lines.filter((line) => line !== undefined) };
}

function remittanceOf(description: string): Pick<PaymentContentInFile, 'reference' | 'remittance'> {
  const reference = description.replaceAll(' ', '').toUpperCase();
  if (isCreditorReference(reference)) return { reference };
  const remittance = shortened(transliterate(description), REMITTANCE_MAX);
  return /[A-Za-z0-9]/.test(remittance) ? { remittance } : {};
}

/** Whether a text is a structured creditor reference with right check digits (ISO 11649:2009): `RF`, two digits, up to 21 characters. */
export function isCreditorReference(text: string): boolean {
  if (!/^RF[0-9]{2}[A-Z0-9]{1,21}$/.test(text)) return false;
  const digits = [...(text.slice(4) + text.slice(0, 4))].map((character) => Number.parseInt(character, 36)).join('');
  return BigInt(digits) % 97n === 1n;
}

/**
 * Codes of clearing systems (ISO 20022 external code set ExternalClearingSystemIdentification1Code, 2021-08-27), by the country of a bank
 * and the type of a routing code. A system that the list lacks has no code.
 */
const CLEARING_SYSTEMS: Readonly<Record<string, string>> = {
  'AU BSB CODE': 'AUBSB',
  'BD BRANCH CODE': 'BEFTN',
  'CA BRANCH CODE': 'CACPA',
  'CN BANK CODE': 'CNAPS',
  'GB SORT CODE': 'GBDSC',
  'HK BANK CODE': 'HKNCC',
  'IN IFSC': 'INFSC',
  'JP BANK CODE': 'JPZGN',
  'NG BANK CODE': 'NGBCS',
  'NZ BRANCH CODE': 'NZNCC',
  'SG BANK CODE': 'SGIBG',
  'TH BANK CODE': 'THCBC',
  'TW BANK CODE': 'TWNCC',
  'US ACH CODE': 'USABA',
  'ZA BRANCH CODE': 'ZANCC',
};

/**
 * The code of the clearing system of a bank.
 *
 * @param type of the routing code, such as `IFSC`
 * @param country of the bank: ISO 3166-1 alpha-2
 */
function clearingSystemOf(type: string, country: string | undefined): string | undefined {
  const name = `${country} ${type}`;
  return Object.hasOwn(CLEARING_SYSTEMS, name) ? CLEARING_SYSTEMS[name] : undefined;
}

/**
 * Codes of purposes (ISO 20022 external code set ExternalPurpose1Code, 2021-08-27) that are sent. A bank refuses a file with a code that
 * the list lacks, so any other purpose is left out.
 */
const PURPOSES: ReadonlySet<string> = new Set(
  (
    'ACCT ADVA AGRT AIRB ALMY ANNI BBSC BECH BENE BEXP BOCE BONU BUSB CASH CBFF CBTV CCRD CDBL CFEE CHAR CLPR CMDT COLL COMC COMM COMT ' +
    'COST CPYR CSDB CSLP CVCF DBTC DCRD DEPT DERI DIVD DMEQ DNTS ECPG ELEC ENRG ESTX FERB FREX GASB GDDS GDSQ GOVI GOVT GSCB GVEA GVEB ' +
    'GVEC GVED HEDG HLRP HLTC HLTI HREC HSPC HSTX ICCP ICRF IDCP IHRP INPC INSM INST INSU INTC INTE INTX INVS IVPT LBRI LICF LIFI LIMA ' +
    'LOAN LOAR LTCF MDCS MSVC NETT NITX NOWS NWCH NWCM OFEE OTHR OTLC PADD PAYR PENS PHON POPE PPTI PRCP PRME PTSP RCPT REFU RENT RINP ' +
    'RLWY ROYA SALA SAVG SCVE SECU SSBE STDY SUBS SUPP TAXS TELI TRAD TREA TRFD VATX VIEW WEBI WHLD WTER'
  ).split(' '),
);

const isExternalPurpose = (code: string): boolean => PURPOSES.has(code);
