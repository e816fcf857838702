import type { TransferAmount } from '../amount.js';
import type { ExecutionId, OrderId, QuoteId } from '../ids.js';
import type { Open } from '../open.js';
import type { ExecutionStatus, OrderStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';
import type { Account } from './account.js';
import type { Recipient } from './recipient.js';
import type { Transaction } from './transaction.js';

/** When an order runs: at once, once at a time that is named, or again and again. */
export type OrderType = 'instant' | 'scheduled' | 'recurring';

/** What `repeatValue` counts. */
export type RepeatUnit = 'daily' | 'weekly' | 'monthly';

/** Why an order is paused: three of its payouts in a row were rejected, or the user who placed it has no role in the workspace. */
export type PauseReason = 'payouts_rejected' | 'placer_without_role';

/** A customer's instruction to pay. */
export interface Order {
  readonly id: OrderId;
  /** Of each run, in minor units of the account's currency, without the fee. */
  readonly amount: TransferAmount;
  /** Completed when nothing is left to run, whatever the network says of the payouts afterwards. */
  readonly status: Open<OrderStatus>;
  readonly type: Open<OrderType>;
  readonly description?: string;
  readonly purposeCode?: string;
  readonly repeatUnit?: Open<RepeatUnit>;
  readonly repeatValue?: number;
  readonly startAt?: Timestamp;
  readonly stopAt?: Timestamp;
  /** Since when it does not run, though it is active. It runs again once it is resumed. */
  readonly pausedAt?: Timestamp;
  readonly pauseReason?: Open<PauseReason>;
  /** The quote whose rate and fee the order was placed at. */
  readonly quoteID?: QuoteId;
  /** The payer's own name of the order, unique in the workspace for ever. */
  readonly externalReference?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly account?: Account;
    readonly recipient?: Recipient;
    /** In the order of their sequence: a page of one order's, the latest ten of each on a list. */
    readonly executions?: readonly Execution[];
  };
}

/** One run of an order. */
export interface Execution {
  readonly id: ExecutionId;
  /** 1 for the first run. */
  readonly sequence: number;
  /** Pending while its transaction is. A run that was refused has failed and has no transaction. */
  readonly status: Open<ExecutionStatus>;
  readonly scheduledAt?: Timestamp;
  readonly executedAt?: Timestamp;
  /** A word of the refusal table, or why the network sent the money back. */
  readonly failureCode?: string;
  readonly failureMessage?: string;
  readonly edges: {
    readonly transaction?: Transaction;
  };
}
