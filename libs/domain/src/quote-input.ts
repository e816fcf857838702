import type { TransferAmount } from './amount.js';
import type { AccountId, RecipientId } from './ids.js';

/**
 * Input of `createQuote`. Exactly one of `amount` and `targetAmount` is given, and exactly one of `recipientID` and `targetCurrency`.
 */
export interface CreateQuoteInput {
  /** The account that pays. */
  readonly accountID: AccountId;
  /** The amount that leaves the account, without the fee: at least 1, in minor units of its currency. */
  readonly amount?: TransferAmount | undefined;
  /** The exact amount that arrives: at least 1, in minor units of the target currency. */
  readonly targetAmount?: TransferAmount | undefined;
  readonly recipientID?: RecipientId | undefined;
  /** ISO 4217 alpha-3, in capital letters. */
  readonly targetCurrency?: string | undefined;
}
