import type { Source } from './source.js';

export const SWIFT_MINIMUM_SOURCE: Source = { name: 'Demo figures of this project', date: '2026-11-21', kind: 'demo' };

/**
 * The smallest SWIFT payout per currency, in minor units of that currency: `"5000"` in USD is 50.00,
 * `"7000"` in JPY is 7000 yen, `"15000"` in KWD is 15.000 dinars. A currency that is missing has none.
 *
 * No public standard sets such figures. Ours are demo and lie near fifty dollars each.
 */
const SWIFT_MINIMUM: ReadonlyMap<string, string> = new Map([
  ['AED', '18500'],
  ['AUD', '7500'],
  ['BRL', '25000'],
  ['CAD', '7000'],
  ['CHF', '5000'],
  ['EUR', '5000'],
  ['GBP', '4000'],
  ['HKD', '40000'],
  ['INR', '400000'],
  ['JPY', '7000'],
  ['KWD', '15000'],
  ['NOK', '50000'],
  ['PLN', '20000'],
  ['SEK', '50000'],
  ['SGD', '7000'],
  ['USD', '5000'],
]);

/** Every currency for which a minimum is set: what a loader writes beside the currency's code. */
export const SWIFT_MINIMUMS: readonly {
  readonly currencyCode: string;
  readonly swiftMinimumWithdrawalAmount: string;
}[] = [...SWIFT_MINIMUM].map(([currencyCode, swiftMinimumWithdrawalAmount]) => ({
  currencyCode,
  swiftMinimumWithdrawalAmount,
}));

/** The smallest SWIFT payout in this currency, in its minor units; undefined where none is set. */
export function swiftMinimumOf(currencyCode: string): string | undefined {
  return SWIFT_MINIMUM.get(currencyCode);
}
