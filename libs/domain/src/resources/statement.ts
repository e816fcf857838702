import type { BalanceAmount, TransferAmount } from '../amount.js';
import type { OrderId, TransactionId, TransferId } from '../ids.js';
import type { PagedRecord } from '../lists.js';
import type { Timestamp } from '../timestamp.js';
import type { Account } from './account.js';
import type { TransferDirection, TransferType } from './transaction.js';

/** How a movement is assigned to a period: by its booking time, or by its value date. */
export type StatementBasis = 'booking' | 'valueDate';

/**
 * The movements of an account in a period, with the balances before and after. The opening balance plus the movements is the
 * closing balance, which is the opening balance of the next period.
 */
export interface Statement {
  /** The beginning of the period as requested, inclusive. */
  readonly from: string;
  /** The end of the period as requested, exclusive. */
  readonly to: string;
  /** `booking` for a period between instants, `valueDate` for one between days. */
  readonly basis: StatementBasis;
  /** A JSON integer in minor units of the account's currency. */
  readonly openingBalance: BalanceAmount;
  /** A JSON integer in minor units of the account's currency. */
  readonly closingBalance: BalanceAmount;
  /** In the order of booking. */
  readonly movements: readonly Movement[];
  readonly edges: { readonly account: StatementAccount };
}

/**
 * One page of an account statement. The balances and the period are those of the whole statement, as of the time when its first page
 * was read. `balanceAfter` continues from page to page.
 */
export type StatementPage = PagedRecord<Statement>;

/** The account of an account statement, without its current balance. */
export type StatementAccount = Pick<Account, 'id' | 'name' | 'alias' | 'code'> & {
  readonly edges: Pick<Account['edges'], 'currency'>;
};

/** A transfer as a line of an account statement. */
export interface Movement {
  /** The id of the transfer. */
  readonly id: TransferId;
  readonly transactionID: TransactionId;
  /** The order that the transaction executes. */
  readonly orderID?: OrderId;
  /** The transaction that this one reverses, a payment or a return. */
  readonly returnOf?: TransactionId;
  /** The return that reverses this transaction. */
  readonly returnedBy?: TransactionId;
  readonly direction: TransferDirection;
  /** In minor units of the account's currency; the direction is its sign. */
  readonly amount: TransferAmount;
  readonly type: TransferType;
  readonly description?: string;
  /** The purpose code as sent. */
  readonly purpose?: string;
  /** Repeated for display, as in a transfer: the fee is a separate movement. */
  readonly feeAmount?: TransferAmount;
  /** The name of the recipient. */
  readonly recipientName?: string;
  /** The value date, `YYYY-MM-DD`. */
  readonly valueDate: string;
  /** When it was booked. */
  readonly createdAt: Timestamp;
  /** The balance after this movement, in the order of this account statement. */
  readonly balanceAfter: BalanceAmount;
}
