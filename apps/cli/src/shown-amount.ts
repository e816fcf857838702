import { currencyOf, isCurrencyCode, type MinorUnits, toDecimal } from '@banking/domain';

/** An amount as people write it; in minor units where the currency is none that has decimals. */
export function shownAmount(amount: MinorUnits, currencyCode: string): string {
  const hasDecimals = isCurrencyCode(currencyCode) && currencyOf(currencyCode).decimals !== undefined;
  return hasDecimals ? toDecimal(amount, currencyCode) : amount.toString();
}
