import type { TransferAmount } from '../amount.js';
import type { CurrencyCode } from '../currencies.js';
import type { CurrencyId, ProductId, CorridorId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';

/** A currency. */
export interface Currency {
  /** In our responses the numeric code of ISO 4217. */
  readonly id: CurrencyId;
  /** Three capital letters of ISO 4217. Another deployment may have a newer one than this library. */
  readonly code: Open<CurrencyCode>;
  readonly name: string;
  readonly symbol?: string;
  /** Digits after the point: 2 for EUR, 0 for JPY, 3 for KWD. */
  readonly decimals?: number;
  /** The minimum of a SWIFT payout, in minor units of this currency: `"5000"` on USD is 50.00. */
  readonly swiftMinimumWithdrawalAmount?: TransferAmount;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
}

/** A banking product of one currency. Accounts are opened for a product. */
export interface Product {
  readonly id: ProductId;
  readonly name: string;
  readonly description?: string;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly currency: Currency;
  };
}

/** The payout method: the clearing of the destination, or SWIFT. */
export type PayoutMethod = Open<'LOCAL' | 'SWIFT'>;

/** The kind of beneficiary, a person or a company; not the kind of account. */
export type BeneficiaryAccountType = Open<'Individual' | 'Corporate'>;

/** The type of the code that identifies the bank. Some contain a space. */
export type RoutingCodeType = Open<
  'SWIFT' | 'IFSC' | 'SORT CODE' | 'ACH CODE' | 'BRANCH CODE' | 'BSB CODE' | 'BANK CODE'
>;

/** The price of a payment: a fixed amount and a share, within a minimum and a maximum. Amounts are in minor units of `edges.limitCurrency`. */
export interface CorridorFee {
  readonly fixedAmount: TransferAmount;
  /** Of the amount, from 0 to 1,000,000: 2,000 is 0.2 percent. */
  readonly partsPerMillion: number;
  readonly minimumAmount: TransferAmount;
  /** Left out if the fee has no upper limit. */
  readonly maximumAmount?: TransferAmount;
}

/** A way to pay to a country: currency, payout method and kind of beneficiary. */
export interface Corridor {
  readonly id: CorridorId;
  /** ISO 3166-1 alpha-2. */
  readonly destinationCountry?: string;
  readonly destinationCurrencyID?: CurrencyId;
  readonly limitCurrencyID?: CurrencyId;
  readonly payoutMethod?: PayoutMethod;
  readonly beneficiaryAccountType?: BeneficiaryAccountType;
  readonly routingCodeType?: RoutingCodeType;
  /** Turnaround time as the provider writes it, such as `T+1`. For display only. */
  readonly deliveryTAT?: string;
  /** Inclusive, in minor units of `edges.limitCurrency`. */
  readonly minimumAmount?: TransferAmount;
  /** Inclusive, in minor units of `edges.limitCurrency`. */
  readonly maximumAmount?: TransferAmount;
  /** Left out if payments are free. */
  readonly fee?: CorridorFee;
  readonly enabled?: boolean;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly destinationCurrency?: Currency;
    readonly limitCurrency?: Currency;
  };
}

/** A corridor with all fields, as in our responses. The interface requires only the id. */
export type CompleteCorridor = Required<Omit<Corridor, 'edges' | 'fee'>> &
  Pick<Corridor, 'fee'> & { readonly edges: Required<Corridor['edges']> };
