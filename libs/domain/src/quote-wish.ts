import type { TransferAmount } from './amount.js';
import type { AccountId, RecipientId } from './ids.js';

/**
 * A payment to be priced: to a recipient or, where nobody is named yet, in a currency. Exactly one of the two.
 */
export interface QuoteWish {
  /** The account that pays. */
  readonly accountID: AccountId;
  /** What is to leave the account besides the fee: at least 1, in minor units of its currency. */
  readonly amount: TransferAmount;
  readonly recipientID?: RecipientId | undefined;
  /** ISO 4217 alpha-3, in capital letters. */
  readonly targetCurrency?: string | undefined;
}
