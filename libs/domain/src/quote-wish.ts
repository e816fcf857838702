import type { TransferAmount } from './amount.js';
import type { AccountId, RecipientId } from './ids.js';

/**
 * A payment to be priced. Exactly one of `amount` and `targetAmount` is given, and exactly one of `recipientID` and `targetCurrency`.
 */
export interface QuoteWish {
  /** The account that pays. */
  readonly accountID: AccountId;
  /** What is to leave the account besides the fee: at least 1, in minor units of its currency. */
  readonly amount?: TransferAmount | undefined;
  /** What is to arrive, exactly: at least 1, in minor units of the target currency. */
  readonly targetAmount?: TransferAmount | undefined;
  readonly recipientID?: RecipientId | undefined;
  /** ISO 4217 alpha-3, in capital letters. */
  readonly targetCurrency?: string | undefined;
}
