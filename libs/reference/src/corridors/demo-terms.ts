import type { Source } from '../source.js';

/** What a route costs in time and how much it carries. Amounts are digits in minor units of `limitCurrency`. */
export interface Terms {
  /** ISO 4217 alpha-3. */
  readonly limitCurrency: string;
  /** The smallest payout, inclusive. */
  readonly minimumAmount: string;
  /** The largest payout to a person and to a company, inclusive. */
  readonly maximumAmount: { readonly Individual: string; readonly Corporate: string };
  /** Says itself that it is demo, because it is shown to people as it stands. */
  readonly deliveryTAT: string;
}

/** No public source states limits or delivery times for routes like these, so every one of them is ours. */
export const DEMO_TERMS_SOURCE: Source = { name: 'Demo terms of this project', date: '2026-11-21', kind: 'demo' };

/** 10.00 to 50,000.00 or 1,000,000.00 US dollars. */
export const USD_LOCAL = terms('USD', '1000', '5000000', '100000000', 'T+1 (demo)');

/** 50.00 to 100,000.00 or 5,000,000.00 US dollars. */
export const USD_SWIFT = terms('USD', '5000', '10000000', '500000000', 'T+2 (demo)');

/** The same amounts where more correspondent banks lie on the way. */
export const USD_SWIFT_FAR = terms('USD', '5000', '10000000', '500000000', 'T+4 (demo)');

/** 1.00 to 50,000.00 or 1,000,000.00 euros. */
export const EUR_LOCAL = terms('EUR', '100', '5000000', '100000000', 'T+1 (demo)');

/** 50.00 to 100,000.00 or 5,000,000.00 euros. */
export const EUR_SWIFT = terms('EUR', '5000', '10000000', '500000000', 'T+2 (demo)');

/** 1.00 to 50,000.00 or 1,000,000.00 pounds. */
export const GBP_LOCAL = terms('GBP', '100', '5000000', '100000000', 'T+0 (demo)');

/** 5.00 to 50,000.00 or 1,000,000.00 francs. */
export const CHF_LOCAL = terms('CHF', '500', '5000000', '100000000', 'T+1 (demo)');

/** 1,000 to 10,000,000 or 100,000,000 yen: a currency without decimals. */
export const JPY_LOCAL = terms('JPY', '1000', '10000000', '100000000', 'T+1 (demo)');

/** 3.000 to 15,000.000 or 300,000.000 dinars: a currency with three decimals. */
export const KWD_LOCAL = terms('KWD', '3000', '15000000', '300000000', 'T+1 (demo)');

/** 10.00 to 75,000.00 or 1,500,000.00 Australian dollars. */
export const AUD_LOCAL = terms('AUD', '1000', '7500000', '150000000', 'T+0 (demo)');

/** 10.00 to 70,000.00 or 1,000,000.00 Singapore dollars. */
export const SGD_LOCAL = terms('SGD', '1000', '7000000', '100000000', 'T+0 (demo)');

function terms(
  limitCurrency: string,
  minimumAmount: string,
  individual: string,
  corporate: string,
  deliveryTAT: string,
): Terms {
  return { limitCurrency, minimumAmount, maximumAmount: { Individual: individual, Corporate: corporate }, deliveryTAT };
}
