import type { TransferAmount } from '../amount.js';
import type { TransferId, OrderId, RemittanceEventId, RemittanceId, TransactionId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { Account, Balance } from './account.js';
import type { Recipient } from './recipient.js';
import type { TransactionStatus } from '../states.js';

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

/** One side of a transaction: money moving into or out of one account. */
export interface Transfer extends Omit<ExecutedTransfer, 'edges'> {
  readonly edges: ExecutedTransfer['edges'] & {
    readonly transaction?: Transaction;
  };
}

/** One balanced journal entry of the books. It executes transfers. */
export interface Transaction {
  readonly id: TransactionId;
  readonly status: TransactionStatus;
  /** SHA-256 in hex. See transaction-hash.ts for its content and its chain. */
  readonly hash?: string;
  /** Ours: the order that it executes. A return has none: follow `returnOf`. */
  readonly orderID?: OrderId;
  /** Ours: the transaction that it reverses, a payment or a return. */
  readonly returnOf?: TransactionId;
  /** Ours: the return that reverses it. */
  readonly returnedBy?: TransactionId;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    /** Present if the money leaves for another institution. */
    readonly internationalRemittance?: InternationalRemittance;
    /** The transfers on customer accounts. */
    readonly transfers?: readonly ExecutedTransfer[];
  };
}

/** An international payment and its tracking. Its id is that of its transaction. */
export interface InternationalRemittance {
  readonly id: RemittanceId;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly events?: readonly RemittanceEvent[];
  };
}

/** One status event of the payment provider for a remittance. */
export interface RemittanceEvent {
  readonly id: RemittanceEventId;
  /** Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited, `RJCT` rejected; others may come. */
  readonly status: Open<'ACSP' | 'ACCC' | 'RJCT'>;
  /** The message of the provider, unchanged. */
  readonly message?: string;
  /** Ours: the reason code of the provider, unchanged, such as `G000` or `AC04`. */
  readonly reasonCode?: string;
  readonly createdAt?: Timestamp;
  readonly lastUpdatedAt?: Timestamp;
}
