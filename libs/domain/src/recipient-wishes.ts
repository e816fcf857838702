import type { RecipientId } from './ids.js';
import type { PageQuery } from './lists.js';
import type { BeneficiaryAccountType, PayoutMethod } from './resources/corridor.js';
import type { BeneficiaryData } from './resources/recipient.js';

/** Which corridor is meant: three that must be said, and who the beneficiary is where only one of both is wanted. */
export interface CorridorQuery {
  /** ISO 3166-1 alpha-2 or alpha-3, in any case. */
  readonly countryCode: string;
  /** ISO 4217 alpha-3, in any case. */
  readonly currencyCode: string;
  readonly payoutMethod: PayoutMethod;
  readonly beneficiaryAccountType?: BeneficiaryAccountType | undefined;
}

/** What a workspace keeps beside a recipient for itself. */
interface RecipientNote {
  /** What the payer calls it: 1 to 140 characters of free text (`isFreeText`). */
  readonly alias?: string | undefined;
  /** Whether it is to be offered again; true when left out. */
  readonly saved?: boolean | undefined;
}

/** Somebody to be paid abroad, over a corridor. */
export interface InternationalRecipientWish extends Omit<CorridorQuery, 'beneficiaryAccountType'>, RecipientNote {
  /** What the schemas of the corridor ask for. */
  readonly data: BeneficiaryData;
}

/** An account of this service to be paid to, in whatever workspace. */
export interface InternalRecipientWish extends RecipientNote {
  /** `code` of the account. */
  readonly accountCode: string;
  /** Shown as the name; else the alias is, else the code. */
  readonly name?: string | undefined;
}

/** What is to change of a recipient. Who is paid, and where, never changes. */
export interface RecipientChange extends RecipientNote {
  readonly recipientId: RecipientId;
}

/** Which recipients are to be listed. */
export interface RecipientQuery extends PageQuery {
  readonly saved?: boolean | undefined;
}
