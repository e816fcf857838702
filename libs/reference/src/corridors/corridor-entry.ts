import type { BeneficiaryAccountType, CurrencyCode, Known, PayoutMethod, RoutingCodeType } from '@banking/domain';
import type { FeeSchedule } from '../fee.js';
import type { Source } from '../source.js';
import { DEMO_TERMS_SOURCE, EUR_SEPA, type Terms } from './demo-terms.js';
import { ISO_9362, SEPA_SCOPE } from './routing-sources.js';

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
