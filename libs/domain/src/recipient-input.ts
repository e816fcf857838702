import type { PlainNumber, RecipientId } from './ids.js';
import type { PageQuery } from './lists.js';
import type { BeneficiaryAccountType, PayoutMethod } from './resources/corridor.js';
import type { BeneficiaryData } from './resources/recipient.js';

/** Selects a corridor, for persons and companies or for one of both. */
export interface CorridorQuery {
  /** ISO 3166-1 alpha-2 or alpha-3, in any case. */
  readonly countryCode: string;
  /** ISO 4217 alpha-3, in any case. */
  readonly currencyCode: string;
  readonly payoutMethod: PayoutMethod;
  readonly beneficiaryAccountType?: BeneficiaryAccountType | undefined;
}

/** The payer's own data about a recipient. */
interface RecipientNote {
  /** The payer's name of the recipient: 1 to 140 characters of free text (`isFreeText`). */
  readonly alias?: string | undefined;
  /** Whether clients offer it again; true if it is omitted. */
  readonly saved?: boolean | undefined;
}

/** Input of `addInternationalRecipient`: a beneficiary abroad, paid over a corridor. */
export interface AddInternationalRecipientInput extends Omit<CorridorQuery, 'beneficiaryAccountType'>, RecipientNote {
  /** The details that the schemas of the corridor require. */
  readonly data: BeneficiaryData;
}

/** Input of `addInternalRecipient`: an account of this service, in any workspace. */
export interface AddInternalRecipientInput extends RecipientNote {
  /** `code` of the account. */
  readonly accountCode: string;
  /** The displayed name; the alias if it is omitted, else the code. */
  readonly name?: string | undefined;
}

/** Input of `changeRecipient`. The beneficiary and the account never change. */
export interface RecipientChange extends RecipientNote {
  readonly recipientId: RecipientId | PlainNumber;
}

/** Filters of the list of recipients. */
export interface RecipientQuery extends PageQuery {
  readonly saved?: boolean | undefined;
}
