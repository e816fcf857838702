import { DEMO_RATES_SOURCE, demoRate } from '@banking/reference';
import { noRate, type RateSource } from './rate-source.js';

/** The rates of the demo table, which no market deals at. For sandboxes: never where money is real. */
export const DEMO_RATES: RateSource = {
  async rateOf(from, to) {
    const rate = demoRate(from, to);
    if (rate === undefined) throw noRate(from, to);
    return { ...rate, source: DEMO_RATES_SOURCE.name, asOf: `${DEMO_RATES_SOURCE.date}T00:00:00Z` };
  },
};
