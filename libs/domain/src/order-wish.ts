import type { TransferAmount } from './amount.js';
import type { AccountId, OrderId, QuoteId, RecipientId } from './ids.js';
import type { PageQuery } from './lists.js';
import type { Order, OrderType, RepeatUnit } from './resources/order.js';
import type { OrderStatus } from './states.js';

/** A payment to be made, at once or later. */
export interface OrderWish {
  /** The account that pays. */
  readonly accountId: AccountId;
  /** Of each run: at least 1, in minor units of the account's currency. The fee comes on top. */
  readonly amount: TransferAmount;
  readonly recipientID: RecipientId;
  readonly type: OrderType;
  /** 1 to 512 characters of free text (`isFreeText`). */
  readonly description?: string | undefined;
  /** A code of GET /orders/purposes: needed for a payment abroad. */
  readonly purposeCode?: string | undefined;
  readonly repeatUnit?: RepeatUnit | undefined;
  /** How many units lie between two runs: 1 to 366. */
  readonly repeatValue?: number | undefined;
  /** RFC 3339 with an offset: the first run, and the local day and time that all others are counted from. */
  readonly startAt?: string | undefined;
  /** RFC 3339 with an offset: the last run is then or before. */
  readonly stopAt?: string | undefined;
  /** A quote for this account, amount and recipient. Only for an instant order: a quote does not wait. */
  readonly quoteID?: QuoteId | undefined;
  /** The payer's own name of the order: 1 to 140 characters, unique in the workspace for ever. */
  readonly externalReference?: string | undefined;
  /** At most 20 pairs of the payer's own. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Which orders are to be listed. All that is given must hold. */
export interface OrderQuery extends PageQuery {
  readonly status?: OrderStatus | undefined;
  readonly type?: OrderType | undefined;
  readonly accountId?: AccountId | undefined;
  readonly recipientId?: RecipientId | undefined;
  /** The order that has it: at most one. */
  readonly externalReference?: string | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
}

/** One order, by the account that owns it. */
export interface OrderName {
  readonly accountId: AccountId;
  readonly orderId: OrderId;
}

/** One order, and which of its executions: the latest, or with a cursor those before. */
export interface OrderPageQuery extends OrderName, PageQuery {}

/** An order with a page of its executions. */
export interface OrderPage {
  readonly order: Order;
  /** The cursor of the page with the executions before these; missing where the page holds the first execution. Opaque. */
  readonly next?: string;
}
