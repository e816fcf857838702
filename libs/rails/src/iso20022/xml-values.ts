import {
  decimalsOf,
  FORBIDDEN_CLASSES,
  isCurrencyCode,
  type MinorUnits,
  MINOR_UNITS_MAX,
  minorUnits,
} from '@banking/domain';
import { BankFileError } from './bank-records.js';
import { elementAt, textAt, type XmlElement } from './read-xml.js';

/** Where in a file a value is, in words for operators. */
export type Place = () => string;

/** @throws BankFileError with the place behind the message */
export function refuse(message: string, place: Place): never {
  throw new BankFileError(`${message} See ${place()}.`);
}

/** A text that must be there, within a length. */
export function requiredText(text: string | undefined, name: string, lengthMax: number, place: Place): string {
  if (text === undefined) refuse(`${name} is missing.`, place);
  if (text.length > lengthMax) refuse(`${name} has more than ${lengthMax} characters.`, place);
  return text;
}

const FORBIDDEN = new RegExp(`[${FORBIDDEN_CLASSES}]`, 'gu');

/**
 * A text that nothing depends on, cut to a length. Characters of two UTF-16 units stay whole. A character that free text must not contain
 * becomes the replacement character: payers write them, and people and programs read them.
 */
export function cutText(text: string | undefined, lengthMax: number): string | undefined {
  if (text === undefined) return undefined;
  const readable = text.replace(/[\t\n\r]+/g, ' ').replace(FORBIDDEN, '\ufffd');
  if (readable.length <= lengthMax) return readable;
  const cut = readable.slice(0, lengthMax);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

export interface StatedAmount {
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
}

/**
 * Reads `ActiveOrHistoricCurrencyAndAmount`: a decimal without a sign and with its currency in `Ccy`. Zeros beyond the decimals of the
 * currency are passed over, because banks write five decimals of any currency; other digits there are refused.
 */
export function readAmount(element: XmlElement | undefined, name: string, place: Place): StatedAmount {
  if (!element) refuse(`${name} is missing.`, place);
  const currency = element.attributes.Ccy;
  if (currency === undefined) refuse(`${name} has no currency.`, place);
  if (!isUsableCurrency(currency)) refuse(`${name} is in a currency that ISO 4217 does not have.`, place);
  const match = /^\+?([0-9]{0,40})(?:\.([0-9]{0,20}))?$/.exec(element.text);
  const [, whole = '', fraction = ''] = match ?? [];
  if (whole + fraction === '') refuse(`${name} is not a decimal number of zero or more.`, place);
  const decimals = decimalsOf(currency);
  if (/[1-9]/.test(fraction.slice(decimals))) refuse(`${name} has more decimals than its currency.`, place);
  const amount = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  if (amount > MINOR_UNITS_MAX) refuse(`${name} is larger than the books can store.`, place);
  return { amount: minorUnits(amount), currency };
}

function isUsableCurrency(code: string): boolean {
  if (!isCurrencyCode(code)) return false;
  try {
    decimalsOf(code);
    return true;
  } catch {
    return false;
  }
}

/** Reads `CdtDbtInd`. */
export function readDirection(text: string | undefined, name: string, place: Place): 'credit' | 'debit' {
  if (text === 'CRDT') return 'credit';
  if (text === 'DBIT') return 'debit';
  return refuse(`${name} has neither CRDT nor DBIT.`, place);
}

const DATE =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?$/;

/** Reads `DateAndDateTimeChoice`: `Dt` or `DtTm`, of which the date counts as the bank writes it. */
export function readDate(element: XmlElement | undefined, name: string, place: Place): string | undefined {
  if (!element) return undefined;
  const text = textAt(element, 'Dt') ?? textAt(element, 'DtTm') ?? (element.text === '' ? undefined : element.text);
  if (text === undefined) return undefined;
  const [, year = '', month = '', day = ''] = DATE.exec(text) ?? [];
  const date = `${year}-${month}-${day}`;
  const time = Date.parse(`${date}T00:00:00Z`);
  const isReal = !Number.isNaN(time) && new Date(time).toISOString().startsWith(date) && year >= '1900';
  if (!isReal) refuse(`${name} is not a date.`, place);
  return date;
}

/** The code of a choice `Cd` or `Prtry`, which older versions write as text. */
export function codeOf(element: XmlElement | undefined): string | undefined {
  if (!element) return undefined;
  return textAt(element, 'Cd') ?? textAt(element, 'Prtry') ?? (element.text === '' ? undefined : element.text);
}

/** How a party's account is named: an IBAN, or any other number. Versions before 2009 have `BBAN`, `UPIC` and `PrtryAcct`. */
export function readAccountId(account: XmlElement | undefined): { iban?: string; other?: string } {
  const id = elementAt(account, 'Id');
  const iban = textAt(id, 'IBAN')?.replace(/\s/g, '').toUpperCase();
  if (iban !== undefined) return { iban };
  const other = textAt(id, 'Othr', 'Id') ?? textAt(id, 'PrtryAcct', 'Id') ?? textAt(id, 'BBAN') ?? textAt(id, 'UPIC');
  return other === undefined ? {} : { other };
}
