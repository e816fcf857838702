import { type MinorUnits, minorUnits, amountRefusal } from './amount.js';
import { decimalsOf, isCurrencyCode } from './currencies.js';
import type { BaseRefusal } from './base-refusal.js';
import type { Currency } from './resources/reference.js';

/** A currency as a response has it, or its code in capital letters. */
export type CurrencyOrCode = string | Pick<Currency, 'code' | 'decimals'>;

const DECIMAL = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;

/**
 * Formats an amount for people, by locale: `formatAmount(minorUnits(123450n), 'EUR', 'de-DE')` is `1.234,50 €`.
 *
 * The decimals are those of ISO 4217, not those of `Intl`, and no digit passes through a float. Do not parse the text: spaces
 * and signs differ between versions of the locale data.
 *
 * @param currency a code, or the currency of a response: `account.edges.currency`. ISO 4217 decides the decimals of its current
 *   codes. The `decimals` of a response count only for a code that is not current, such as that of an old payment.
 * @param locale BCP 47, such as `de-DE`; the default of the platform if it is omitted.
 * @throws Refusal `currency_unknown` for a code without a smallest unit, and for one that is not current without `decimals`.
 */
export function formatAmount(
  amount: MinorUnits,
  currency: CurrencyOrCode,
  locale?: string | readonly string[],
): string {
  const decimals = decimalsIn(currency);
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: codeIn(currency),
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return format.format(toDecimal(amount, currency) as Intl.StringNumericLiteral);
}

/**
 * Writes an amount as a plain decimal with all decimals of its currency: 123450 in EUR is `1234.50`, in JPY `123450`,
 * in KWD `123.450`. A negative amount begins with `-`.
 *
 * @param currency as in {@link formatAmount}
 * @throws Refusal `currency_unknown` as {@link formatAmount}
 */
export function toDecimal(amount: MinorUnits, currency: CurrencyOrCode): string {
  const decimals = decimalsIn(currency);
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  if (decimals === 0) return sign + digits;
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/**
 * Reads a plain decimal in whole units of a currency: `"1234.5"` in EUR is 123450, `"-3"` in JPY is -3.
 *
 * Digits, at most one point and a leading minus; no grouping, plus, exponent, spaces or leading zero. Missing decimals are zero.
 * Additional decimals are refused and never rounded, even zeros.
 *
 * @param currency as in {@link formatAmount}
 * @throws Refusal `amount_too_precise` for more decimals than the currency has.
 * @throws Refusal `amount_malformed` for any other spelling.
 * @throws Refusal `amount_out_of_range` if the books cannot store it.
 * @throws Refusal `currency_unknown` as {@link formatAmount}
 */
export function parseAmount(text: string, currency: CurrencyOrCode): MinorUnits {
  const decimals = decimalsIn(currency);
  const match = DECIMAL.exec(text);
  if (match === null) {
    throw amountRefusal('amount_malformed', 'Write the amount in digits with a point before the decimals, as 1234.50.');
  }
  const [, sign = '', whole = '', fraction = ''] = match;
  if (fraction.length > decimals) throw tooPrecise(codeIn(currency), decimals, fraction.length);
  const magnitude = digitsToBigInt(whole + fraction.padEnd(decimals, '0'));
  return minorUnits(sign === '-' ? -magnitude : magnitude);
}

const codeIn = (currency: CurrencyOrCode): string => (typeof currency === 'string' ? currency : currency.code);

/** No currency of ISO 4217 has more than four. More than nine are a mistake. */
const DECIMALS_MAX = 9;

/** The decimals of ISO 4217; for a code that the table does not have, those of the response. */
function decimalsIn(currency: CurrencyOrCode): number {
  const code = codeIn(currency);
  if (typeof currency === 'string' || isCurrencyCode(code)) return decimalsOf(code);
  const { decimals } = currency;
  const isUsable = decimals !== undefined && Number.isInteger(decimals) && decimals >= 0 && decimals <= DECIMALS_MAX;
  // `Intl` throws a RangeError for a code of another form.
  return isUsable && /^[A-Z]{3}$/.test(code) ? decimals : decimalsOf(code);
}

function tooPrecise(currencyCode: string, decimals: number, given: number): BaseRefusal {
  const allowed = decimals === 0 ? 'no decimals' : `at most ${decimals} decimals`;
  return amountRefusal('amount_too_precise', `An amount in ${currencyCode} must have ${allowed}, not ${given}.`);
}

/** Refuses long texts unread, because `BigInt` takes more than linear time. */
function digitsToBigInt(digits: string): bigint {
  if (digits.length > 40)
    throw amountRefusal('amount_out_of_range', 'The amount is above the limit of 9223372036854775807 minor units.');
  return BigInt(digits);
}
