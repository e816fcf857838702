import type { TransferAmount } from '../amount.js';
import type { CorridorId, CurrencyId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { Currency } from './currency.js';

/** How the money reaches the beneficiary. */
export type PayoutMethod = Open<'LOCAL' | 'SWIFT'>;

/** Who the beneficiary is, a person or a company; not whether the account is current or savings. */
export type BeneficiaryAccountType = Open<'Individual' | 'Corporate'>;

/** Which code routes the money to the bank. Some are written with a space. */
export type RoutingCodeType = Open<
  'SWIFT' | 'IFSC' | 'SORT CODE' | 'ACH CODE' | 'BRANCH CODE' | 'BSB CODE' | 'BANK CODE'
>;

/** One combination of currency and payout method in which money can reach a country. */
export interface Corridor {
  readonly id: CorridorId;
  /** ISO 3166-1 alpha-2. */
  readonly destinationCountry?: string;
  readonly destinationCurrencyID?: CurrencyId;
  readonly limitCurrencyID?: CurrencyId;
  readonly payoutMethod?: PayoutMethod;
  readonly beneficiaryAccountType?: BeneficiaryAccountType;
  readonly routingCodeType?: RoutingCodeType;
  /** Turnaround time as the provider writes it, such as `T+1`. Shown, never calculated with. */
  readonly deliveryTAT?: string;
  /** Inclusive, in minor units of `edges.limitCurrency`. */
  readonly minimumAmount?: TransferAmount;
  /** Inclusive, in minor units of `edges.limitCurrency`. */
  readonly maximumAmount?: TransferAmount;
  readonly enabled?: boolean;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly destinationCurrency?: Currency;
    readonly limitCurrency?: Currency;
  };
}

/** A corridor with every field present, as our own answers give it; the interface itself requires only the id. */
export type CompleteCorridor = Required<Omit<Corridor, 'edges'>> & { readonly edges: Required<Corridor['edges']> };
