import type { BankId, BeneficiaryId, RecipientId } from '../ids.js';
import type { Timestamp } from '../timestamp.js';
import type { Currency } from './currency.js';

/** A payee. */
export interface Recipient {
  readonly id: RecipientId;
  readonly name: string;
  readonly accountCode: string;
  readonly alias?: string;
  readonly saved?: boolean;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly bank?: Bank;
    /** Present for international transfers. */
    readonly beneficiary?: Beneficiary;
    readonly currency?: Currency;
  };
}

/** The bank of a recipient, from reference data for its routing code. */
export interface Bank {
  readonly id: BankId;
  readonly name: string;
  /** ISO 3166-1 alpha-2. */
  readonly countryCode?: string;
  /** BIC (ISO 9362). */
  readonly swiftCode?: string;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
}

/** The final owner of the money. Regulated data: never log it. */
export interface Beneficiary {
  readonly id: BeneficiaryId;
  readonly data?: BeneficiaryData;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
}

/** The details that a corridor's schema describes. The schema decides which of the known fields are required. */
export interface BeneficiaryData {
  readonly beneficiaryName?: string;
  readonly beneficiaryAddress?: string;
  /** ISO 3166-1 alpha-2. */
  readonly destinationCountry?: string;
  readonly beneficiaryAccountType?: string;
  /** ISO 3166-1 alpha-2. */
  readonly beneficiaryCountryCode?: string;
  readonly beneficiaryAccountNumber?: string;
  readonly routingCodeType1?: string;
  readonly routingCodeValue1?: string;
  readonly [other: string]: unknown;
}
