import { type CurrencyCode, type Rate, Refusal } from '@banking/domain';

/** An exact rate minus the spread of its pair, with its source and time. */
export interface DatedRate extends Rate {
  /** The source, for auditors. */
  readonly source: string;
  /** RFC 3339, with an offset. */
  readonly asOf: string;
}

/** A source of rates between two different currencies. A call may take seconds: never call it inside a database transaction. */
export interface RateSource {
  /** @throws Refusal `rate_unavailable` with a message that states the reason and the next step. */
  rateOf(from: CurrencyCode, to: CurrencyCode): Promise<DatedRate>;
}

/** For a live deployment without a configured source. */
export const NO_RATES: RateSource = {
  async rateOf(from, to) {
    const message =
      `There is no rate from ${from} to ${to}: this deployment has no source of rates. ` +
      'Pay in the currency of the account.';
    throw new Refusal('rate_unavailable', message);
  },
};

/** For a pair that is missing in the source. */
export function noRate(from: CurrencyCode, to: CurrencyCode): Refusal {
  return new Refusal('rate_unavailable', `There is no rate from ${from} to ${to}. Choose another currency.`);
}
