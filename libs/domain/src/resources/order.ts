import type { TransferAmount } from '../amount.js';
import type { ExecutionId, OrderId, QuoteId, UserId } from '../ids.js';
import type { Open } from '../open.js';
import type { ExecutionStatus, OrderStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';
import type { Account } from './account.js';
import type { Recipient } from './recipient.js';
import type { Transaction } from './transaction.js';

/** When an order runs: at once, once at a given time, or repeatedly. */
export type OrderType = 'instant' | 'scheduled' | 'recurring';

/** The unit of `repeatValue`. */
export type RepeatUnit = 'daily' | 'weekly' | 'monthly';

/** Why an order is paused: three of its payouts in a row were rejected, or the user who placed it has no role in the workspace. */
export type PauseReason = 'payouts_rejected' | 'placer_without_role';

/** A customer's instruction to pay. */
export interface Order {
  readonly id: OrderId;
  /** The amount of each run without the fee, in minor units of the account's currency. */
  readonly amount: TransferAmount;
  /** Completed when no run is left, independent of later results of the payouts. */
  readonly status: Open<OrderStatus>;
  readonly type: Open<OrderType>;
  readonly description?: string;
  readonly purposeCode?: string;
  readonly repeatUnit?: Open<RepeatUnit>;
  readonly repeatValue?: number;
  readonly startAt?: Timestamp;
  readonly stopAt?: Timestamp;
  /** When the order was paused. A paused order stays active and runs again after it is resumed. */
  readonly pausedAt?: Timestamp;
  readonly pauseReason?: Open<PauseReason>;
  /** The quote that fixed its rate and fee. */
  readonly quoteID?: QuoteId;
  /** The payer's reference of the order, permanently unique in the workspace. */
  readonly externalReference?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The user for whom the order runs: the user who placed it, or the user who resumed it. Missing if the service itself placed it. */
  readonly placedBy?: UserId;
  /** The user who cancelled it. */
  readonly cancelledBy?: UserId;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly account?: Account;
    readonly recipient?: Recipient;
    /** By sequence: a page for one order, the latest ten of each order in a list. */
    readonly executions?: readonly Execution[];
  };
}

/** One run of an order. */
export interface Execution {
  readonly id: ExecutionId;
  /** 1 for the first run. */
  readonly sequence: number;
  /** Pending while its transaction is. A refused run is failed and has no transaction. */
  readonly status: Open<ExecutionStatus>;
  readonly scheduledAt?: Timestamp;
  readonly executedAt?: Timestamp;
  /** A reason of the refusal table, or the reason code of the network for a rejection. */
  readonly failureCode?: string;
  readonly failureMessage?: string;
  readonly edges: {
    readonly transaction?: Transaction;
  };
}
