import { type CurrencyCode, type Rate, Refusal } from '@banking/domain';

/** An exact rate less the spread of its pair, and who says so since when. */
export interface DatedRate extends Rate {
  /** The source as an auditor would look for it. */
  readonly source: string;
  /** RFC 3339, with an offset. */
  readonly asOf: string;
}

/** Where rates between two different currencies come from. It may take seconds: never ask inside a database transaction. */
export interface RateSource {
  /** @throws Refusal `rate_unavailable` with a message that says why and what to do. */
  rateOf(from: CurrencyCode, to: CurrencyCode): Promise<DatedRate>;
}

/** For a deployment of real money that was told of no source. */
export const NO_RATES: RateSource = {
  async rateOf(from, to) {
    const why = 'this deployment has no source of rates';
    throw new Refusal('rate_unavailable', `There is no rate from ${from} to ${to}: ${why}. Pay in the currency of the account.`); // prettier-ignore
  },
};

/** For a pair that the source does not have. */
export function noRate(from: CurrencyCode, to: CurrencyCode): Refusal {
  return new Refusal('rate_unavailable', `There is no rate from ${from} to ${to}. Choose another currency.`);
}
