import type { TransferAmount } from './amount.js';
import type { AccountId, TransactionId } from './ids.js';

/** Money that arrives on an account. */
export interface FundingWish {
  readonly accountId: AccountId;
  /** At least 1, in minor units of the account's currency. */
  readonly amount: TransferAmount;
}

/** What a network is to say of a payment abroad. */
export interface TransactionEventWish {
  readonly transactionId: TransactionId;
  /** Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited, `RJCT` rejected. */
  readonly status: 'ACSP' | 'ACCC' | 'RJCT';
  /** The network's reason, such as `AC04`: 1 to 35 letters and digits. */
  readonly reasonCode?: string | undefined;
}

/** Which time a workspace is to come to. */
export interface ClockChange {
  /** RFC 3339 with an offset. */
  readonly now: string;
}
