import type { FeeSchedule } from '../fee.js';
import type { Source } from '../source.js';
import { DEMO_TERMS_SOURCE, EUR_SEPA, type Terms } from './demo-terms.js';
import { ISO_9362, SEPA_SCOPE } from './routing-sources.js';

/** Who the beneficiary is: a person or a company. Not a kind of account. */
export type BeneficiaryAccountType = 'Individual' | 'Corporate';

/** Over the destination's own clearing, or from bank to bank over SWIFT. */
export type PayoutMethod = 'LOCAL' | 'SWIFT';

/** What names the receiving bank on a route of ours. On the wire any other text may follow. */
export type RoutingCodeType = 'SWIFT' | 'IFSC' | 'SORT CODE' | 'ACH CODE' | 'BRANCH CODE' | 'BSB CODE' | 'BANK CODE';

/** One way to pay out: to a country, in a currency, by a method, to a kind of beneficiary. */
export interface CorridorEntry {
  readonly id: number;
  /** ISO 3166-1 alpha-2. */
  readonly destinationCountry: string;
  /** ISO 4217 alpha-3. */
  readonly destinationCurrency: string;
  /** ISO 4217 alpha-3; need not be the destination's. */
  readonly limitCurrency: string;
  readonly payoutMethod: PayoutMethod;
  readonly beneficiaryAccountType: BeneficiaryAccountType;
  readonly routingCodeType: RoutingCodeType;
  readonly deliveryTAT: string;
  /** Digits in minor units of `limitCurrency`, inclusive, as is the maximum. */
  readonly minimumAmount: string;
  readonly maximumAmount: string;
  readonly enabled: boolean;
  /** What a payout costs; left out where it costs nothing. */
  readonly fee?: FeeSchedule;
  /** Who says that such a route exists and which code it routes by. */
  readonly source: Source;
  /** Who says what it carries, what it costs, how long it takes and whether it is open: so far always demo. */
  readonly termsSource: Source;
}

/** A route with its number, from which two corridors are made: one for persons, one for companies. */
export interface Route {
  /**
   * Written down once and never moved, because the ids come from it: `2n - 1` for Individual, `2n`
   * for Corporate. A new route takes the next free number, in whatever file it stands. A route that
   * is given up is closed for both, not deleted.
   */
  readonly number: number;
  readonly country: string;
  readonly currency: string;
  readonly method: PayoutMethod;
  readonly routing: RoutingCodeType;
  readonly terms: Terms;
  readonly source: Source;
  readonly closedFor: readonly BeneficiaryAccountType[];
}

/** A route that is closed to everybody. */
export const BOTH: readonly BeneficiaryAccountType[] = ['Individual', 'Corporate'];

/** Columns: number, country, currency, routing code, terms, source, closed for. */
export function local(
  number: number,
  country: string,
  currency: string,
  routing: RoutingCodeType,
  terms: Terms,
  source: Source,
  closedFor: readonly BeneficiaryAccountType[] = [],
): Route {
  return { number, country, currency, method: 'LOCAL', routing, terms, source, closedFor };
}

/** Columns: number, country, currency, terms, closed for. Routed by BIC, always. */
export function swift(
  number: number,
  country: string,
  currency: string,
  terms: Terms,
  closedFor: readonly BeneficiaryAccountType[] = [],
): Route {
  return { number, country, currency, method: 'SWIFT', routing: 'SWIFT', terms, source: ISO_9362, closedFor };
}

/** Columns: number, country, closed for. Euros, an IBAN for the account and a BIC for the bank. */
export function sepa(number: number, country: string, closedFor: readonly BeneficiaryAccountType[] = []): Route {
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
