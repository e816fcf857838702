import type { TransferAmount } from '../amount.js';
import type { TransferId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { Account, Balance } from './account.js';
import type { Recipient } from './recipient.js';
import type { Transaction } from './transaction.js';

/** The bank's view of a customer's account: a debit lowers it, a credit raises it. Nothing else exists. */
export type TransferDirection = 'debit' | 'credit';

/**
 * What kind of movement it is. `spot` wherever a conversion took place, also for a payout: its remittance shows that
 * the money left us.
 */
export type TransferType = Open<'spot' | 'internal' | 'payout' | 'funding' | 'return' | 'fee'>;

/** One side of a transaction: money moving into or out of one account. */
export interface Transfer {
  readonly id: TransferId;
  /** In minor units of the account's currency. */
  readonly amount: TransferAmount;
  readonly description?: string;
  readonly direction?: TransferDirection;
  readonly type?: TransferType;
  /** The purpose code as it was sent. */
  readonly purpose?: string;
  /**
   * The fee of this movement in minor units of the account's currency, repeated here to be shown. The fee is a
   * transfer of its own, of type `fee`: do not subtract it again.
   */
  readonly feeAmount?: TransferAmount;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly account?: Account;
    /** What this transfer left on the account. */
    readonly balance?: Balance;
    readonly recipient?: Recipient;
    readonly transaction?: Transaction;
  };
}

/** A transfer inside its own transaction: the same, without the way back. */
export type ExecutedTransfer = Omit<Transfer, 'edges'> & {
  readonly edges: Omit<Transfer['edges'], 'transaction'>;
};
