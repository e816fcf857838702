import type { TransferAmount } from '../amount.js';
import type { ApprovalId, ExecutionId, OrderId, QuoteId, UserId } from '../ids.js';
import type { Open } from '../open.js';
import type { OrderStatements } from '../order-statements.js';
import type { ExecutionStatus, OrderStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';
import type { Account } from './account.js';
import type { Recipient } from './recipient.js';
import type { Transaction } from './transaction.js';
import type { Currency } from './reference.js';

/** When an order runs: at once, once at a given time, or repeatedly. */
export type OrderType = 'instant' | 'scheduled' | 'recurring';

/** The unit of `repeatValue`. */
export type RepeatUnit = 'daily' | 'weekly' | 'monthly';

/** Why an order is paused: three of its payouts in a row were rejected, or the user who placed it is no member of the workspace. */
export type PauseReason = 'payouts_rejected' | 'placer_without_role';

/** The fields without undefined, which a resource omits. */
type Present<Fields> = { readonly [Name in keyof Fields]: Exclude<Fields[Name], undefined> };

/** A customer's instruction to pay. */
export interface Order extends Present<OrderStatements> {
  readonly id: OrderId;
  /** The amount of each run without the fee, in minor units of the account's currency. */
  readonly amount: TransferAmount;
  /** Completed when no run is left, independent of later results of the payouts. */
  readonly status: Open<OrderStatus>;
  readonly type: Open<OrderType>;
  readonly repeatUnit?: Open<RepeatUnit>;
  readonly startAt?: Timestamp;
  readonly stopAt?: Timestamp;
  /** When the order was paused. A paused order stays active and runs again after it is resumed. */
  readonly pausedAt?: Timestamp;
  readonly pauseReason?: Open<PauseReason>;
  /** The quote that fixed its rate and fee. */
  readonly quoteID?: QuoteId;
  /** The approval that the order waits for, or waited for. */
  readonly approvalID?: ApprovalId;
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
  /** The first run of an order awaits its approvals. Pending while its transaction is. A refused run is failed and has no transaction. */
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

/**
 * The price of one payment, binding until `expiresAt`. The account is debited `amount` and `feeAmount`, and `targetAmount` arrives.
 *
 * Callers can verify it with `rateOf(from, to, rate)`. If the request gave `amount`, then `targetAmount` is
 * `convert(amount, rate, 'down').amount`. If it gave `targetAmount`, then `amount` is
 * `convert(targetAmount, inverse(rate), 'up').amount`. The remainder stays with the service, so no sequence of conversions gains.
 */
export interface Quote {
  readonly id: QuoteId;
  /** The amount that leaves the account, without the fee, in minor units of its currency. */
  readonly amount: TransferAmount;
  /**
   * The exact rate in use: whole units of the target currency for one whole unit of the account's currency. Rounded down to fifteen
   * significant digits, with up to fifteen digits on either side of a point. `1` within a currency.
   */
  readonly rate: string;
  /** In minor units of the account's currency. Omitted without a recipient, because the fee depends on the corridor. */
  readonly feeAmount?: TransferAmount;
  /** The amount that arrives, in minor units of the target currency. */
  readonly targetAmount: TransferAmount;
  readonly expiresAt: Timestamp;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    /** The account that pays. */
    readonly account: Account;
    readonly recipient?: Recipient;
    readonly targetCurrency: Currency;
  };
}
