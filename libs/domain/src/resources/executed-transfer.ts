import type { TransferAmount } from '../amount.js';
import type { TransferId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { Account, Balance } from './account.js';
import type { Recipient } from './recipient.js';

/** From the bank's view of a customer account: a debit lowers the balance, a credit raises it. */
export type TransferDirection = 'debit' | 'credit';

/**
 * The kind of movement. `spot` marks every conversion, also of a payout, whose transaction then has a remittance.
 */
export type TransferType = Open<'spot' | 'internal' | 'payout' | 'funding' | 'return' | 'fee'>;

/** A transfer inside its own transaction, without the link back to it. */
export interface ExecutedTransfer {
  readonly id: TransferId;
  /** In minor units of the account's currency. */
  readonly amount: TransferAmount;
  readonly description?: string;
  readonly direction?: TransferDirection;
  readonly type?: TransferType;
  /** The purpose code as sent. */
  readonly purpose?: string;
  /**
   * The fee of this movement in minor units of the account's currency, repeated for display. The fee is a separate transfer of
   * type `fee`: do not subtract it again.
   */
  readonly feeAmount?: TransferAmount;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly account?: Account;
    /** The balance of the account after this transfer. */
    readonly balance?: Balance;
    readonly recipient?: Recipient;
  };
}
