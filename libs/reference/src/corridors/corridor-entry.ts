import {
  type CurrencyCode,
  minorUnits,
  type BeneficiaryAccountType,
  type Known,
  type PayoutMethod,
  type RoutingCodeType,
} from '@banking/domain';
import type { FeeSchedule } from '../fee.js';
import type { Source } from '../source.js';
import { ISO_9362, SEPA_SCOPE } from './routing-sources.js';

/** The limits, price and delivery time of a route. Amounts are in minor units of `limitCurrency`, limits as digits. */
interface Terms {
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
const DEMO_TERMS_SOURCE: Source = { name: 'Demo terms of this project', date: '2026-11-21', kind: 'demo' };

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
const EUR_SEPA: Terms = terms('EUR', '100', '5000000', '100000000', 'T+1 (demo)');

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

/** A corridor: a country, a currency, a payout method and a kind of beneficiary. */
export interface CorridorEntry {
  readonly id: number;
  /** ISO 3166-1 alpha-2. */
  readonly destinationCountry: string;
  readonly destinationCurrency: CurrencyCode;
  /** May differ from the destination's. */
  readonly limitCurrency: CurrencyCode;
  readonly payoutMethod: Known<PayoutMethod>;
  readonly beneficiaryAccountType: Known<BeneficiaryAccountType>;
  readonly routingCodeType: Known<RoutingCodeType>;
  readonly deliveryTAT: string;
  /** Digits in minor units of `limitCurrency`, inclusive, as is the maximum. */
  readonly minimumAmount: string;
  readonly maximumAmount: string;
  readonly enabled: boolean;
  /** The price of a payout; omitted if it is free. */
  readonly fee?: FeeSchedule;
  /** The source of the route and of its routing code. */
  readonly source: Source;
  /** The source of limits, price, delivery time and status: always demo so far. */
  readonly termsSource: Source;
}

/** A route. It makes two corridors: one for persons, one for companies. */
export interface Route {
  /**
   * Never changes, because the ids derive from it: `2n - 1` for Individual, `2n` for Corporate. A new route takes the next
   * free number of all files. To end a route, close it for both, and do not delete it.
   */
  readonly number: number;
  readonly country: string;
  readonly currency: CurrencyCode;
  readonly method: Known<PayoutMethod>;
  readonly routing: Known<RoutingCodeType>;
  readonly terms: Terms;
  readonly source: Source;
  readonly closedFor: readonly Known<BeneficiaryAccountType>[];
}

/** Closes a route completely. */
export const BOTH: readonly Known<BeneficiaryAccountType>[] = ['Individual', 'Corporate'];

/** Columns: number, country, currency, routing code, terms, source, closed for. */
export function local(
  number: number,
  country: string,
  currency: CurrencyCode,
  routing: Known<RoutingCodeType>,
  terms: Terms,
  source: Source,
  closedFor: readonly Known<BeneficiaryAccountType>[] = [],
): Route {
  return { number, country, currency, method: 'LOCAL', routing, terms, source, closedFor };
}

/** Columns: number, country, currency, terms, closed for. The routing code is always the BIC. */
export function swift(
  number: number,
  country: string,
  currency: CurrencyCode,
  terms: Terms,
  closedFor: readonly Known<BeneficiaryAccountType>[] = [],
): Route {
  return { number, country, currency, method: 'SWIFT', routing: 'SWIFT', terms, source: ISO_9362, closedFor };
}

/** Columns: number, country, closed for. The currency is the euro, the account is an IBAN, the routing code is the BIC. */
export function sepa(number: number, country: string, closedFor: readonly Known<BeneficiaryAccountType>[] = []): Route {
  return local(number, country, 'EUR', 'SWIFT', EUR_SEPA, SEPA_SCOPE, closedFor);
}

/** The two corridors of a route. */
export function corridorsOf(route: Route): CorridorEntry[] {
  return BOTH.map((beneficiaryAccountType, index) => ({
    id: 2 * route.number - 1 + index,
    destinationCountry: route.country,
    destinationCurrency: route.currency,
    limitCurrency: route.terms.limitCurrency,
    payoutMethod: route.method,
    beneficiaryAccountType,
    routingCodeType: route.routing,
    deliveryTAT: route.terms.deliveryTAT,
    minimumAmount: route.terms.minimumAmount,
    maximumAmount: route.terms.maximumAmount[beneficiaryAccountType],
    enabled: !route.closedFor.includes(beneficiaryAccountType),
    ...(route.terms.fee === undefined ? {} : { fee: route.terms.fee }),
    source: route.source,
    termsSource: DEMO_TERMS_SOURCE,
  }));
}
