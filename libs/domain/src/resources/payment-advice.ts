import type { TransferAmount } from '../amount.js';
import type { OrderId, TransactionId, TransferId } from '../ids.js';
import type { TransactionStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';
import type { Recipient } from './recipient.js';
import type { Currency } from './reference.js';
import type { StatementAccount } from './statement.js';

/** What finance needs of a payment: what left the account, what arrives at which rate, and when. Its id is that of the transfer. */
export interface PaymentAdvice {
  readonly id: TransferId;
  readonly transactionID: TransactionId;
  readonly orderID?: OrderId;
  /** That of the transaction. */
  readonly status: TransactionStatus;
  /** Unique end-to-end transaction reference of ISO 20022, a UUID: only of a payment that leaves for another institution. */
  readonly uetr?: string;
  /** What left the account without the fee, in minor units of the account's currency. */
  readonly amount: TransferAmount;
  /** In minor units of the account's currency; `"0"` for a free payment. */
  readonly feeAmount: TransferAmount;
  /** What arrives, in minor units of `edges.targetCurrency`. */
  readonly targetAmount: TransferAmount;
  /** Whole units of the target currency for one whole unit of the account's currency, as it was applied. Left out without a conversion. */
  readonly rate?: string;
  readonly rateSource?: string;
  readonly rateAsOf?: Timestamp;
  readonly description?: string;
  readonly purpose?: string;
  /** When the account was debited. */
  readonly debitedAt: Timestamp;
  /** When the network reported the final status. Left out while the transaction is pending. */
  readonly endedAt?: Timestamp;
  readonly edges: {
    readonly account: StatementAccount;
    readonly recipient: Recipient;
    readonly targetCurrency: Currency;
  };
}
