import { currencyOf, isCurrencyCode, type MinorUnits, toDecimal } from '@banking/domain';

/** An amount with the decimals of its currency, or in minor units if the currency defines no decimals. */
export function shownAmount(amount: MinorUnits, currencyCode: string): string {
  const hasDecimals = isCurrencyCode(currencyCode) && currencyOf(currencyCode).decimals !== undefined;
  return hasDecimals ? toDecimal(amount, currencyCode) : amount.toString();
}
