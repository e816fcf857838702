import { type CurrencyCode, minorUnits } from '@banking/domain';
import type { FeeSchedule } from '../fee.js';
import type { Source } from '../source.js';

/** The limits, price and delivery time of a route. Amounts are in minor units of `limitCurrency`, limits as digits. */
export interface Terms {
  /** ISO 4217 alpha-3. */
  readonly limitCurrency: CurrencyCode;
  /** The smallest payout, inclusive. */
  readonly minimumAmount: string;
  /** The largest payout to a person and to a company, inclusive. */
  readonly maximumAmount: { readonly Individual: string; readonly Corporate: string };
  /** Contains the word demo, because people see it unchanged. */
  readonly deliveryTAT: string;
  /** Omitted for a free route. */
  readonly fee?: FeeSchedule;
}

/** No public source states limits, delivery times or fees of such routes, so all of them are invented. */
export const DEMO_TERMS_SOURCE: Source = { name: 'Demo terms of this project', date: '2026-11-21', kind: 'demo' };

/** 10.00 to 50,000.00 or 1,000,000.00 US dollars, for 1.00 and 0.2 percent, 2.00 to 25.00 in all. */
export const USD_LOCAL: Terms = {
  ...terms('USD', '1000', '5000000', '100000000', 'T+1 (demo)'),
  fee: fee('USD', 100n, 2_000n, 200n, 2_500n),
};

/** 50.00 to 100,000.00 or 5,000,000.00 US dollars, for 10.00 and 0.1 percent, 15.00 to 150.00 in all. */
export const USD_SWIFT: Terms = {
  ...terms('USD', '5000', '10000000', '500000000', 'T+2 (demo)'),
  fee: fee('USD', 1_000n, 1_000n, 1_500n, 15_000n),
};

/** The same amounts through more correspondent banks: 20.00 and 0.15 percent, 25.00 to 200.00 in all. */
export const USD_SWIFT_FAR: Terms = {
  ...terms('USD', '5000', '10000000', '500000000', 'T+4 (demo)'),
  fee: fee('USD', 2_000n, 1_500n, 2_500n, 20_000n),
};

/** 1.00 to 50,000.00 or 1,000,000.00 euros, over SEPA: free. */
export const EUR_SEPA: Terms = terms('EUR', '100', '5000000', '100000000', 'T+1 (demo)');

/** The same amounts over another clearing: 0.50 and 0.1 percent, 0.50 to 10.00 in all. */
export const EUR_LOCAL: Terms = { ...EUR_SEPA, fee: fee('EUR', 50n, 1_000n, 50n, 1_000n) };

/** 50.00 to 100,000.00 or 5,000,000.00 euros, for 10.00 and 0.1 percent, 12.50 to 120.00 in all. */
export const EUR_SWIFT: Terms = {
  ...terms('EUR', '5000', '10000000', '500000000', 'T+2 (demo)'),
  fee: fee('EUR', 1_000n, 1_000n, 1_250n, 12_000n),
};

/** 1.00 to 50,000.00 or 1,000,000.00 pounds: free. */
export const GBP_LOCAL: Terms = terms('GBP', '100', '5000000', '100000000', 'T+0 (demo)');

/** 5.00 to 50,000.00 or 1,000,000.00 francs, for 1.00 and 0.1 percent, 20.00 at most. */
export const CHF_LOCAL: Terms = {
  ...terms('CHF', '500', '5000000', '100000000', 'T+1 (demo)'),
  fee: fee('CHF', 100n, 1_000n, 100n, 2_000n),
};

/** 1,000 to 10,000,000 or 100,000,000 yen, for 300 and 0.1 percent without a maximum. The currency has no decimals. */
export const JPY_LOCAL: Terms = {
  ...terms('JPY', '1000', '10000000', '100000000', 'T+1 (demo)'),
  fee: fee('JPY', 300n, 1_000n, 300n),
};

/** 3.000 to 15,000.000 or 300,000.000 dinars, for 0.250 and 0.05 percent, 0.500 to 5.000 in all: three decimals. */
export const KWD_LOCAL: Terms = {
  ...terms('KWD', '3000', '15000000', '300000000', 'T+1 (demo)'),
  fee: fee('KWD', 250n, 500n, 500n, 5_000n),
};

/** 10.00 to 75,000.00 or 1,500,000.00 Australian dollars, for 0.1 percent, 0.50 to 15.00 in all. */
export const AUD_LOCAL: Terms = {
  ...terms('AUD', '1000', '7500000', '150000000', 'T+0 (demo)'),
  fee: fee('AUD', 0n, 1_000n, 50n, 1_500n),
};

/** 10.00 to 70,000.00 or 1,000,000.00 Singapore dollars, for 0.50. */
export const SGD_LOCAL: Terms = {
  ...terms('SGD', '1000', '7000000', '100000000', 'T+0 (demo)'),
  fee: fee('SGD', 50n, 0n, 50n),
};

function terms(
  limitCurrency: CurrencyCode,
  minimumAmount: string,
  individual: string,
  corporate: string,
  deliveryTAT: string,
): Terms {
  return { limitCurrency, minimumAmount, maximumAmount: { Individual: individual, Corporate: corporate }, deliveryTAT };
}

/** Columns: currency, fixed part, parts per million, minimum, maximum. */
function fee(
  currency: CurrencyCode,
  fixed: bigint,
  partsPerMillion: bigint,
  minimum: bigint,
  maximum?: bigint,
): FeeSchedule {
  return {
    currency,
    fixed: minorUnits(fixed),
    partsPerMillion,
    minimum: minorUnits(minimum),
    ...(maximum === undefined ? {} : { maximum: minorUnits(maximum) }),
  };
}
