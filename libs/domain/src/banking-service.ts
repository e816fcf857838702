import type { AccountId, AppId, QuoteId, RecipientId, TransferId } from './ids.js';
import type { AccountChange, AccountWish, StatementQuery } from './account-wishes.js';
import type { Page, PageQuery } from './lists.js';
import type { QuoteWish } from './quote-wish.js';
import type { CorridorQuery, InternalRecipientWish, InternationalRecipientWish, RecipientChange, RecipientQuery } from './recipient-wishes.js'; // prettier-ignore
import type { Created, Intent } from './intent.js';
import type { OrderName, OrderPage, OrderPageQuery, OrderQuery, OrderWish } from './order-wish.js';
import type { ClockChange, FundingWish, TransactionEventWish } from './sandbox-wishes.js';
import type { Scope } from './scope.js';
import type { Account } from './resources/account.js';
import type { App } from './resources/app.js';
import type { Corridor } from './resources/corridor.js';
import type { Order } from './resources/order.js';
import type { Product } from './resources/product.js';
import type { Quote } from './resources/quote.js';
import type { Recipient } from './resources/recipient.js';
import type { RecipientSchema } from './resources/recipient-schema.js';
import type { SandboxClock } from './resources/sandbox-clock.js';
import type { StatementPage } from './resources/statement.js';
import type { Transaction } from './resources/transaction.js';
import type { Transfer } from './resources/transfer.js';
import type { User } from './resources/user.js';
import type { TransferQuery } from './transfer-query.js';

/**
 * The port: the published interface, one method per operation, in its own words.
 *
 * Two things answer behind it, our own books and another deployment of the same interface. An abstract class and not
 * an interface, so that it exists at run time as the token it is injected by.
 *
 * Beside what is named at each method, any of them may refuse with `not_authenticated`, `rate_limited` or
 * `unavailable`, after which nothing was done. A method that creates or changes something may also refuse with
 * `outcome_unknown`: it may have been done. Whatever is not a Refusal is a bug.
 */
export abstract class BankingService {
  /** GET /apps: the apps the actor belongs to, all of them. */
  abstract listApps(scope: Scope): Promise<readonly App[]>;

  /**
   * GET /apps/{appId}/users: an administrator of any workspace of the app sees every user with all roles, anyone else
   * themselves and the users they share a workspace with, with the shared roles only.
   *
   * @throws Refusal `app_not_found` for an app that is not there or that the actor does not belong to.
   */
  abstract listAppUsers(scope: Scope, query: { readonly appId: AppId }): Promise<readonly User[]>;

  /** GET /products: what accounts can be opened from, all of it. */
  abstract listProducts(scope: Scope): Promise<readonly Product[]>;

  /**
   * GET /recipients/countries/{country}/corridors: how money can reach a country, an ISO 3166-1 code of two letters or
   * three in any case. A country we cannot pay to has an empty list.
   *
   * @throws Refusal `country_unknown` when there is no such country.
   */
  abstract listCorridors(scope: Scope, query: { readonly country: string }): Promise<readonly Corridor[]>;

  /**
   * GET /recipients/validation-schema: what a corridor asks for about a beneficiary, one schema for each way to write it down. A
   * corridor that is closed at the moment still says what it asks for.
   *
   * @throws Refusal `corridor_not_found` when there is no such corridor.
   */
  abstract listRecipientSchemas(scope: Scope, query: CorridorQuery): Promise<readonly RecipientSchema[]>;

  /**
   * GET /recipients: whom the workspace pays, newest first, without those that were forgotten.
   *
   * @throws Refusal `limit_invalid`, `cursor_invalid`.
   */
  abstract listRecipients(scope: Scope, query?: RecipientQuery): Promise<Page<Recipient>>;

  /** GET /recipients/{recipientId}. @throws Refusal `recipient_not_found`, also for one that was forgotten */
  abstract getRecipient(scope: Scope, query: { readonly recipientId: RecipientId }): Promise<Recipient>;

  /**
   * POST /recipients/international: keeps whom to pay over a corridor, once their details are what it asks for.
   *
   * @throws Refusal `corridor_not_found`.
   * @throws Refusal `recipient_invalid` with the fields at fault, and those of the idempotency key as `openAccount`.
   */
  abstract addInternationalRecipient(
    scope: Scope,
    wish: InternationalRecipientWish,
    intent?: Intent,
  ): Promise<Created<Recipient>>;

  /**
   * POST /recipients/internal: keeps an account of this service as somebody to pay. Of an account in another workspace it tells
   * that it is there, and nothing else.
   *
   * @throws Refusal `recipient_invalid` when no account has the code, and those of the idempotency key as `openAccount`.
   */
  abstract addInternalRecipient(
    scope: Scope,
    wish: InternalRecipientWish,
    intent?: Intent,
  ): Promise<Created<Recipient>>;

  /** PATCH /recipients/{recipientId}: what is left out stays. @throws Refusal `recipient_not_found` */
  abstract changeRecipient(scope: Scope, change: RecipientChange): Promise<Recipient>;

  /**
   * DELETE /recipients/{recipientId}: forgets one, for good. Past transfers keep theirs.
   *
   * @throws Refusal `recipient_not_found`, also when it was forgotten before.
   */
  abstract forgetRecipient(scope: Scope, query: { readonly recipientId: RecipientId }): Promise<void>;

  /** GET /orders/purposes: why money may be sent, purpose codes with their texts. */
  abstract listPurposes(scope: Scope): Promise<Readonly<Record<string, string>>>;

  /**
   * GET /transfers/{transferId}: one transfer of the workspace.
   *
   * @throws Refusal `workspace_id_required` without a workspace in the scope.
   * @throws Refusal `workspace_forbidden` where the backing checks access and the actor has no role there.
   * @throws Refusal `transfer_not_found` for a transfer that is not there or that is another workspace's.
   */
  abstract getTransfer(scope: Scope, query: { readonly transferId: TransferId }): Promise<Transfer>;

  /** GET /accounts: the accounts of the workspace, newest first. @throws Refusal `limit_invalid`, `cursor_invalid` */
  abstract listAccounts(scope: Scope, query?: PageQuery): Promise<Page<Account>>;

  /** GET /accounts/{accountId}. @throws Refusal `account_not_found` */
  abstract getAccount(scope: Scope, query: { readonly accountId: AccountId }): Promise<Account>;

  /**
   * POST /accounts: opens an account with a balance of zero.
   *
   * @throws Refusal `product_not_found`, and those of the idempotency key: `idempotency_key_invalid`,
   *   `idempotency_in_progress`, `idempotency_key_reused`.
   */
  abstract openAccount(scope: Scope, wish: AccountWish, intent?: Intent): Promise<Created<Account>>;

  /**
   * PATCH /accounts/{accountId}: gives it another alias, or disables or enables it. What is left out stays. Who changed what and when
   * is kept.
   *
   * @throws Refusal `account_not_found`.
   */
  abstract changeAccount(scope: Scope, change: AccountChange): Promise<Account>;

  /**
   * GET /accounts/{accountId}/statement: what moved on an account in a period, as of one instant: that of the first page.
   *
   * @throws Refusal `timestamp_invalid` for what is neither an instant nor a day, for one of each, and for a period that ends before it
   *   begins.
   * @throws Refusal `account_not_found`, `limit_invalid`, `cursor_invalid`.
   * @throws Refusal `amount_out_of_range` where a balance by value date, which no rule of the books bounds, is beyond 2^53 - 1.
   */
  abstract getStatement(scope: Scope, query: StatementQuery): Promise<StatementPage>;

  /**
   * POST /quotes: what a payment would cost and what would arrive, binding until it expires and good for one order. It promises a
   * price, not that the account holds the money.
   *
   * @throws Refusal `body_malformed` unless exactly one of `amount` and `targetAmount` is given, and exactly one of `recipientID` and
   *   `targetCurrency`; `amount_malformed`, `amount_out_of_range`, `currency_unknown`.
   * @throws Refusal `account_not_found`, `account_disabled`, `recipient_invalid`, `corridor_disabled`,
   *   `amount_below_minimum`, `amount_above_maximum`, `rate_unavailable`, and those of the idempotency key as `openAccount`.
   */
  abstract createQuote(scope: Scope, wish: QuoteWish, intent?: Intent): Promise<Created<Quote>>;

  /** GET /quotes/{quoteId}: also one that has expired. @throws Refusal `quote_unknown` */
  abstract getQuote(scope: Scope, query: { readonly quoteId: QuoteId }): Promise<Quote>;

  /**
   * GET /transfers: the transfers of the workspace's accounts, newest first.
   *
   * @throws Refusal `limit_invalid`, `cursor_invalid`, `timestamp_invalid`.
   * @throws Refusal `account_not_found`, `recipient_not_found` for a filter that names another workspace's.
   */
  abstract listTransfers(scope: Scope, query?: TransferQuery): Promise<Page<Transfer>>;

  /**
   * POST /sandbox/accounts/{accountId}/fundings: books money as if it had arrived, completed at once and without a fee. Only where a
   * deployment has a sandbox; elsewhere money arrives by itself.
   *
   * @throws Refusal `amount_malformed`, `amount_out_of_range`, `account_not_found`, `account_disabled`, `balance_limit_exceeded`, and
   *   those of the idempotency key.
   * @throws Refusal `route_not_found` from a service over HTTP that has no sandbox.
   */
  abstract fundAccount(scope: Scope, wish: FundingWish, intent?: Intent): Promise<Created<Transfer>>;

  /**
   * POST /sandbox/transactions/{transactionId}/events: lets the network say something of a payment abroad now. It is recorded when it
   * is answered, with all that follows from it; a word that comes again or too late moves nothing. Where there is a sandbox.
   *
   * @throws Refusal `transaction_not_found` for one that is not the workspace's or does not leave us.
   * @throws Refusal `balance_limit_exceeded` when the account cannot take back what is rejected, and those of the idempotency key.
   */
  abstract addTransactionEvent(
    scope: Scope,
    wish: TransactionEventWish,
    intent?: Intent,
  ): Promise<Created<Transaction>>;

  /**
   * POST /sandbox/clock: moves the time by which the orders of the workspace run; what has become due runs at once, what was passed
   * over once. All else keeps the real time. Where there is a sandbox.
   *
   * @throws Refusal `timestamp_invalid`; `clock_invalid` for a time before the one it has come to, or over 100 years ahead.
   */
  abstract moveClock(scope: Scope, change: ClockChange): Promise<SandboxClock>;

  /**
   * POST /accounts/{accountId}/orders: pays at once, or later, or again and again. An instant order has moved the money when it is
   * answered, or it is refused and nothing has happened.
   *
   * @throws Refusal `account_not_found`, `account_disabled`, `recipient_invalid`, `corridor_disabled`, `amount_malformed`,
   *   `amount_out_of_range`, `amount_below_minimum`, `amount_above_maximum`, `insufficient_funds`, `purpose_code_required`,
   *   `purpose_code_invalid`, `schedule_invalid`, `quote_not_found`, `quote_expired`, `quote_used`, `rate_unavailable`,
   *   `external_reference_reused`, and those of the idempotency key as `openAccount`.
   */
  abstract placeOrder(scope: Scope, wish: OrderWish, intent?: Intent): Promise<Created<Order>>;

  /**
   * GET /orders: the orders of the workspace, newest first, each with the latest ten of its executions.
   *
   * @throws Refusal `account_not_found`, `recipient_not_found` for a filter that names what is not the workspace's.
   * @throws Refusal `limit_invalid`, `cursor_invalid`, `timestamp_invalid`.
   */
  abstract listOrders(scope: Scope, query?: OrderQuery): Promise<Page<Order>>;

  /**
   * GET /accounts/{accountId}/orders/{orderId}: with its latest executions in the order of their sequence, or the page before.
   *
   * @throws Refusal `order_not_found`, `limit_invalid`, `cursor_invalid`.
   */
  abstract getOrderPage(scope: Scope, query: OrderPageQuery): Promise<OrderPage>;

  /** The first page of {@link getOrderPage}. @throws Refusal `order_not_found` */
  async getOrder(scope: Scope, { accountId, orderId }: OrderName): Promise<Order> {
    return (await this.getOrderPage(scope, { accountId, orderId })).order;
  }

  /**
   * POST /accounts/{accountId}/orders/{orderId}/cancellation: what has not been executed never will be.
   *
   * @throws Refusal `order_not_found`, `order_not_cancellable` when nothing is left to run.
   */
  abstract cancelOrder(scope: Scope, name: OrderName): Promise<Order>;

  /**
   * POST /accounts/{accountId}/orders/{orderId}/resumption: a paused order runs again, for the user who resumes it. What it missed runs
   * once, now.
   *
   * @throws Refusal `order_not_found`, `order_not_paused`.
   */
  abstract resumeOrder(scope: Scope, name: OrderName): Promise<Order>;
}
