import type { AccountId, PlainNumber, RecipientId } from './ids.js';

/**
 * Input of `createQuote`. Exactly one of `amount` and `targetAmount` is given, and exactly one of `recipientID` and `targetCurrency`.
 */
export interface CreateQuoteInput {
  /** The account that pays. */
  readonly accountID: AccountId | PlainNumber;
  /** The amount that leaves the account, without the fee: at least 1, in minor units of its currency. */
  readonly amount?: string | undefined;
  /** The exact amount that arrives: at least 1, in minor units of the target currency. */
  readonly targetAmount?: string | undefined;
  readonly recipientID?: RecipientId | PlainNumber | undefined;
  /** ISO 4217 alpha-3, in capital letters. */
  readonly targetCurrency?: string | undefined;
}
