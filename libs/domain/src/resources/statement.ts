import type { BalanceAmount, TransferAmount } from '../amount.js';
import type { OrderId, TransactionId, TransferId } from '../ids.js';
import type { Timestamp } from '../timestamp.js';
import type { Account } from './account.js';
import type { TransferDirection, TransferType } from './transfer.js';

/** What decides whether a movement belongs to a period: when it was booked, or the day it counts. */
export type StatementBasis = 'booking' | 'valueDate';

/**
 * What moved on an account in a period, and what it held before and after. The opening balance and the movements add up
 * to the closing balance, and that is the opening balance of the period that begins where this one ends.
 */
export interface Statement {
  /** Where the period begins, as it was asked for; this very instant or day belongs to it. */
  readonly from: string;
  /** Where it ends, as it was asked for; this very instant or day does not belong to it. */
  readonly to: string;
  /** `booking` for a period between instants, `valueDate` for one between days. */
  readonly basis: StatementBasis;
  /** A JSON integer in minor units of the account's currency. */
  readonly openingBalance: BalanceAmount;
  /** The same. */
  readonly closingBalance: BalanceAmount;
  /** In the order they were booked; by value date in the order of that day first. */
  readonly movements: readonly Movement[];
  readonly edges: { readonly account: StatementAccount };
}

/**
 * One page of a statement. The balances and the period are those of the whole statement, which is what was booked when its first page
 * was read. `balanceAfter` of a movement continues from page to page.
 */
export interface StatementPage extends Statement {
  /** The cursor of the page behind this one; missing on the last. Opaque. */
  readonly next?: string;
}

/** The account of a statement: who and what, without what it holds today. */
export type StatementAccount = Pick<Account, 'id' | 'name' | 'alias' | 'code'> & {
  readonly edges: Pick<Account['edges'], 'currency'>;
};

/** A transfer as a line of a statement. */
export interface Movement {
  /** Of the transfer. */
  readonly id: TransferId;
  readonly transactionID: TransactionId;
  /** The order that the transaction carries out. */
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
  /** The purpose code as it was sent. */
  readonly purpose?: string;
  /** Repeated to be shown, as in a transfer: the fee is a movement of its own. */
  readonly feeAmount?: TransferAmount;
  /** Name of who was paid. */
  readonly recipientName?: string;
  /** The day it counts, `YYYY-MM-DD`. */
  readonly valueDate: string;
  /** When it was booked. */
  readonly createdAt: Timestamp;
  /** The balance behind this movement, in the order of this statement. */
  readonly balanceAfter: BalanceAmount;
}
