import type { CurrencyCode } from '@banking/domain';
import type { Source } from './source.js';

export const SWIFT_MINIMUM_SOURCE: Source = { name: 'Demo figures of this project', date: '2026-11-21', kind: 'demo' };

/**
 * The smallest SWIFT payout per currency, in minor units of that currency: `"5000"` in USD is 50.00, `"7000"` in JPY is
 * 7000 yen, `"15000"` in KWD is 15.000 dinars. A missing currency has no minimum.
 *
 * No public standard sets such figures. These are demo data, about fifty dollars each.
 */
export const SWIFT_MINIMUMS: Readonly<Partial<Record<CurrencyCode, string>>> = {
  AED: '18500',
  AUD: '7500',
  BRL: '25000',
  CAD: '7000',
  CHF: '5000',
  EUR: '5000',
  GBP: '4000',
  HKD: '40000',
  INR: '400000',
  JPY: '7000',
  KWD: '15000',
  NOK: '50000',
  PLN: '20000',
  SEK: '50000',
  SGD: '7000',
  USD: '5000',
};

/** The smallest SWIFT payout in this currency, in its minor units; undefined without a minimum. */
export function swiftMinimumOf(currencyCode: CurrencyCode): string | undefined {
  return SWIFT_MINIMUMS[currencyCode];
}
