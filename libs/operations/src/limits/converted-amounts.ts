import { convert, type CurrencyCode, type MinorUnits, rateOf } from '@banking/domain';
import { type ConvertedAmount, currencyCode } from '@banking/ledger';
import { noRate, type RateSource, writtenRate } from '@banking/reference';

/**
 * What a payment counts in the currencies of limits that it neither leaves in nor arrives in: at the rates of the moment, rounded up.
 * May call a source of rates, so never call it inside a database transaction.
 *
 * @throws Refusal `rate_unavailable`, `amount_out_of_range`
 */
export async function convertedAmounts(
  amount: MinorUnits,
  { currencyId, targetCurrencyId }: { readonly currencyId: number; readonly targetCurrencyId: number },
  limitCurrencyIds: readonly number[],
  rates: RateSource,
): Promise<readonly ConvertedAmount[]> {
  const from = currencyCode(currencyId) as CurrencyCode;
  const others = limitCurrencyIds.filter((id) => id !== currencyId && id !== targetCurrencyId);
  return Promise.all(
    others.map(async (id) => {
      const to = currencyCode(id) as CurrencyCode;
      const rate = writtenRate(await rates.rateOf(from, to));
      if (rate === undefined) throw noRate(from, to);
      return { currencyId: id, rate, amount: convert(amount, rateOf(from, to, rate), 'up').amount };
    }),
  );
}
