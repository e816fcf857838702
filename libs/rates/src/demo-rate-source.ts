import { DEMO_RATES_SOURCE, demoRate } from '@banking/reference';
import { noRate, type RateSource } from './rate-source.js';

/** The invented rates of the demo table. For sandboxes only. */
export const DEMO_RATES: RateSource = {
  async rateOf(from, to) {
    const rate = demoRate(from, to);
    if (rate === undefined) throw noRate(from, to);
    return { ...rate, source: DEMO_RATES_SOURCE.name, asOf: `${DEMO_RATES_SOURCE.date}T00:00:00Z` };
  },
};
