import type { BankId, BeneficiaryId, RecipientId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { Currency } from './reference.js';

/** A payee. */
export interface Recipient {
  readonly id: RecipientId;
  readonly name: string;
  readonly accountCode: string;
  readonly alias?: string;
  readonly saved?: boolean;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  /** What the payee's bank answered last. */
  readonly verification?: RecipientVerification;
  readonly edges: {
    readonly bank?: Bank;
    /** Present for international transfers. */
    readonly beneficiary?: Beneficiary;
    readonly currency?: Currency;
  };
}

/** Whether the holder of an account has the name that a payer knows. `not_possible`: there is no answer. */
export type PayeeVerificationResult = 'match' | 'close_match' | 'no_match' | 'not_possible';

/** Whether the account of a recipient belongs to its name, as the payee's bank says. */
export interface RecipientVerification {
  readonly result: Open<PayeeVerificationResult>;
  /** With `close_match`: the name of the holder, for the payer to compare. Personal data: never log it. */
  readonly name?: string;
  readonly verifiedAt: Timestamp;
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
  /** The address in elements, with those of ISO 20022 `PostalAddress`. Beside others, the town is required. */
  readonly beneficiaryStreetName?: string;
  readonly beneficiaryBuildingNumber?: string;
  readonly beneficiaryPostCode?: string;
  readonly beneficiaryTownName?: string;
  readonly [other: string]: unknown;
}

/**
 * One form of the details that a corridor requires of a beneficiary: a JSON Schema (2020-12) of `Beneficiary.data`. It compiles in
 * Ajv with `strict: true` and needs no plug-in. It may have other keywords than these.
 */
export interface RecipientSchema {
  readonly $schema: string;
  /** Stable: the same form has the same id. */
  readonly $id: string;
  /** For people who choose between forms. */
  readonly title: string;
  /** The source of the route. */
  readonly $comment?: string;
  readonly type: string;
  /** By the name of the field. */
  readonly properties: Readonly<Record<string, RecipientFieldSchema>>;
  readonly required: readonly string[];
  /** The fields that are required beside a field. */
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;
  readonly additionalProperties: boolean;
  /** Invented details that pass. */
  readonly examples?: readonly Readonly<Record<string, string>>[];
}

/** The rules of one field of `Beneficiary.data`. */
export interface RecipientFieldSchema {
  readonly type: string;
  /** The label of the field. */
  readonly title: string;
  /** The rule in a sentence. */
  readonly description: string;
  readonly examples?: readonly string[];
  /** The source of the rule with its date. */
  readonly $comment?: string;
  /** ECMA-262 with the flag `u`. */
  readonly pattern?: string;
  readonly maxLength?: number;
  /** The only allowed text. */
  readonly const?: string;
  readonly enum?: readonly string[];
}
