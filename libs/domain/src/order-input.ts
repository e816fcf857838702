import type { AccountId, OrderId, PlainNumber, QuoteId, RecipientId, UserId } from './ids.js';
import type { PagedRecord, PageQuery } from './lists.js';
import type { Order, OrderType, RepeatUnit } from './resources/order.js';
import type { OrderStatus } from './states.js';

/** Input of `placeOrder`. */
export interface PlaceOrderInput {
  /** The account that pays. */
  readonly accountId: AccountId | PlainNumber;
  /** The amount of each run without the fee: at least 1, in minor units of the account's currency. */
  readonly amount: string;
  readonly recipientID: RecipientId | PlainNumber;
  readonly type: OrderType;
  /** 1 to 512 characters of free text (`isFreeText`). */
  readonly description?: string | undefined;
  /** A code of GET /orders/purposes; required for an international payment. */
  readonly purposeCode?: string | undefined;
  readonly repeatUnit?: RepeatUnit | undefined;
  /** The number of units between two runs: 1 to 366. */
  readonly repeatValue?: number | undefined;
  /** RFC 3339 with an offset: the first run. Its local day and time anchor all others. */
  readonly startAt?: string | undefined;
  /** RFC 3339 with an offset, inclusive: no run is later. */
  readonly stopAt?: string | undefined;
  /** A quote for this account, amount and recipient. For an instant order only, because quotes expire. */
  readonly quoteID?: QuoteId | PlainNumber | undefined;
  /** The payer's reference of the order: 1 to 140 characters, permanently unique in the workspace. */
  readonly externalReference?: string | undefined;
  /** At most 20 pairs of the payer. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Filters of the list of orders. They are combined with AND. */
export interface OrderQuery extends PageQuery {
  readonly status?: OrderStatus | undefined;
  readonly type?: OrderType | undefined;
  readonly accountId?: AccountId | PlainNumber | undefined;
  readonly recipientId?: RecipientId | PlainNumber | undefined;
  /** The user for whom the order runs. */
  readonly placedBy?: UserId | PlainNumber | undefined;
  /** Matches at most one order. */
  readonly externalReference?: string | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
}

/** Identifies an order by its account and its id. */
export interface OrderName {
  readonly accountId: AccountId | PlainNumber;
  readonly orderId: OrderId | PlainNumber;
}

/** Identifies an order by its id, and optionally by the account that pays it. */
export interface OrderReference {
  readonly accountId?: AccountId | PlainNumber | undefined;
  readonly orderId: OrderId | PlainNumber;
}

/** Selects a page of an order's executions: the latest, or earlier ones with a cursor. */
export interface OrderPageQuery extends OrderReference, PageQuery {}

/** An order with a page of its executions. The next page holds the executions before these. */
export type OrderPage = PagedRecord<Order>;
