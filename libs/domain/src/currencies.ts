import { amountRefusal } from './amount.js';
import { CURRENCY_ROWS, type CurrencyRow } from './currencies.data.js';
import type { CurrencyId } from './ids.js';

/** The alphabetic code of a currency, current in ISO 4217 at the date of {@link CURRENCY_SOURCE}. */
export type CurrencyCode = (typeof CURRENCY_ROWS)[number][0];

/** One currency of ISO 4217. Its name is in `@banking/domain/prose`. */
export interface CurrencyEntry {
  readonly code: CurrencyCode;
  /** The numeric code, which ISO writes with three digits. It is the id of the currency in our responses. */
  readonly numeric: CurrencyId;
  /**
   * Digits after the point. `undefined` if the standard has "N.A.": metals, drawing rights, test codes. Accounts cannot have such
   * a currency, because it has no smallest unit.
   */
  readonly decimals: number | undefined;
  /** The symbol, if there is one. It is not unique: several currencies share `$`. */
  readonly symbol?: string;
}

const ROWS: readonly CurrencyRow[] = CURRENCY_ROWS;
const ENTRIES: readonly CurrencyEntry[] = ROWS.map(([code, numeric, decimals, symbol]) => ({
  code: code as CurrencyCode,
  numeric: numeric as CurrencyId,
  decimals,
  ...(symbol !== undefined && { symbol }),
}));
const BY_CODE: ReadonlyMap<string, CurrencyEntry> = new Map(ENTRIES.map((entry) => [entry.code, entry]));

/** Every current currency, in the order of their codes. */
export function currencies(): readonly CurrencyEntry[] {
  return ENTRIES;
}

/** Whether a text is the code of a current currency, in capital letters. */
export function isCurrencyCode(text: string): text is CurrencyCode {
  return BY_CODE.has(text);
}

/** Whether amounts can be in it: a current currency with a smallest unit, unlike `XAU` and `XXX`. */
export function isAmountCurrency(text: string): text is CurrencyCode {
  return BY_CODE.get(text)?.decimals !== undefined;
}

/**
 * The currency of a code, in capital letters.
 *
 * @throws Refusal `currency_unknown` for any other text, a withdrawn currency included.
 */
export function currencyOf(code: string): CurrencyEntry {
  const entry = BY_CODE.get(code);
  if (entry === undefined) {
    throw amountRefusal('currency_unknown', 'There is no current ISO 4217 currency with this code.');
  }
  return entry;
}

/**
 * How many digits a currency has after the point.
 *
 * @throws Refusal `currency_unknown` for a code that is not current, and for one without a smallest unit.
 */
export function decimalsOf(code: string): number {
  const { decimals } = currencyOf(code);
  if (decimals === undefined) {
    throw amountRefusal('currency_unknown', `${code} has no smallest unit, so no amount can be written in it.`);
  }
  return decimals;
}
