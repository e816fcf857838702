import { type CurrencyCode, Refusal } from '@banking/domain';
import { MissingRate, noRate, type RateSource, writtenRate } from '@banking/reference';

/**
 * The rate at which an order from a currency counts in that of a limit, as it is written. May call a source of rates, so never call it inside
 * a database transaction.
 *
 * @throws Refusal `rate_unavailable`, whose message names the limit: the payer did not choose its currency
 */
export async function rateToLimit(from: CurrencyCode, to: CurrencyCode, rates: RateSource): Promise<string> {
  try {
    return await writtenRateTo(from, to, rates);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const fault = `A limit of the workspace is in ${to}, and the order cannot be counted without a rate from ${from} to ${to}.`;
    const action = error instanceof MissingRate ? 'Ask' : 'Try again later, or ask';
    const message = `${fault} ${action} an administrator to set the limit in another currency.`;
    throw new Refusal('rate_unavailable', message, { cause: error });
  }
}

/**
 * The currencies to which no currency of the accounts has a rate: a limit in one would refuse every order. A currency is not among them if the
 * workspace has no account, or the source of rates fails, because then this is not known.
 */
export async function unratedCurrencies(
  currencies: ReadonlySet<CurrencyCode>,
  ofAccounts: readonly CurrencyCode[],
  rates: RateSource,
): Promise<ReadonlySet<CurrencyCode>> {
  const unrated = new Set<CurrencyCode>();
  for (const to of currencies) {
    if (ofAccounts.length === 0 || ofAccounts.includes(to)) continue;
    const missing = await Promise.all(ofAccounts.map((from) => isMissing(from, to, rates)));
    if (missing.every(Boolean)) unrated.add(to);
  }
  return unrated;
}

async function isMissing(from: CurrencyCode, to: CurrencyCode, rates: RateSource): Promise<boolean> {
  try {
    await writtenRateTo(from, to, rates);
    return false;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return error instanceof MissingRate;
  }
}

async function writtenRateTo(from: CurrencyCode, to: CurrencyCode, rates: RateSource): Promise<string> {
  const rate = writtenRate(await rates.rateOf(from, to));
  if (rate === undefined) throw noRate(from, to);
  return rate;
}

const isUnavailable = (error: unknown): error is Refusal =>
  error instanceof Refusal && error.reason === 'rate_unavailable';
