import { channel, type Channel } from 'node:diagnostics_channel';
import { type CurrencyCode, type Rate, Refusal } from '@banking/domain';
import { DEMO_RATES_SOURCE, demoRate } from '../demo-rates.js';

/** An exact rate minus the spread of its pair, with its source and time. */
export interface DatedRate extends Rate {
  /** The source, for auditors. */
  readonly source: string;
  /** RFC 3339, with an offset. */
  readonly asOf: string;
}

/** The source has no rate for the pair, and has none later unless its operator adds it. Any other `rate_unavailable` may pass. */
export class MissingRate extends Refusal {
  constructor(message: string) {
    super('rate_unavailable', message);
  }
}

/** A source of rates between two different currencies. A call may take seconds: never call it inside a database transaction. */
export interface RateSource {
  /**
   * A source may return the same object for as long as it is the latest rate of the pair. What is computed of it can then be kept.
   *
   * @throws Refusal `rate_unavailable` with a message that states the reason and the next step, a `MissingRate` if the pair has none.
   */
  rateOf(from: CurrencyCode, to: CurrencyCode): Promise<DatedRate>;
}

/** For a live deployment without a configured source. */
export const NO_RATES: RateSource = {
  async rateOf(from, to) {
    const message =
      `There is no rate from ${from} to ${to}: this deployment has no source of rates. ` +
      'Pay in the currency of the account.';
    throw new MissingRate(message);
  },
};

/** For a pair that is missing in the source. */
export function noRate(from: CurrencyCode, to: CurrencyCode): MissingRate {
  return new MissingRate(`There is no rate from ${from} to ${to}. Choose another currency.`);
}

/** A request for the document of exchange rates. See `channels.ts` of `@banking/postgres`. */
interface RatesMessage {
  /** RFC 3339, of the document; undefined if the source could not be used. */
  readonly asOf?: string | undefined;
}
export const ratesChannel = channel('banking:rates:document') as Channel<unknown, RatesMessage>;

/** The invented rates of the demo table. For sandboxes only. */
export const DEMO_RATES: RateSource = {
  async rateOf(from, to) {
    const known = knownRates.get(`${from}/${to}`);
    if (known) return known;
    const rate = demoRate(from, to);
    if (rate === undefined) throw noRate(from, to);
    const dated = { ...rate, source: DEMO_RATES_SOURCE.name, asOf: `${DEMO_RATES_SOURCE.date}T00:00:00Z` };
    knownRates.set(`${from}/${to}`, dated);
    return dated;
  },
};

/** By pair, at most all pairs of the table. */
const knownRates = new Map<string, DatedRate>();
