import type {
  AuditQuery,
  EventPage,
  EventQuery,
  CreateWebhookEndpointInput,
  WebhookDeliveryName,
  WebhookDeliveryQuery,
  WebhookEndpointChange,
  WebhookEndpointName,
  WebhookReplay,
  WebhookReplayInput,
  AccountChange,
  OpenAccountInput,
  StatementQuery,
  CreateQuoteInput,
  CorridorQuery,
  AddInternalRecipientInput,
  AddInternationalRecipientInput,
  RecipientChange,
  RecipientQuery,
  OrderName,
  OrderPage,
  OrderPageQuery,
  OrderQuery,
  OrderReference,
  PlaceOrderInput,
  ClockChange,
  FundAccountInput,
  AddTransactionEventInput,
  TransferQuery,
} from './inputs.js';
import type { EventId, PlainNumber, AccountId, AppId, QuoteId, RecipientId, TransactionId, TransferId } from './ids.js';
import type { Page, PageQuery } from './lists.js';
import type { AuditEvent, Event } from './resources/event.js';
import type { Scope } from './scope.js';
import type { Created, RequestOptions } from './idempotency.js';
import type { WebhookDelivery, WebhookEndpoint, WebhookEndpointWithSecret } from './resources/webhook.js';
import type { Account } from './resources/account.js';
import type { App, User } from './resources/user.js';
import type { Corridor, Product } from './resources/reference.js';
import type { Order, Quote } from './resources/order.js';
import type { Recipient, RecipientSchema } from './resources/recipient.js';
import type { SandboxClock } from './resources/sandbox-clock.js';
import type { StatementPage } from './resources/statement.js';
import type { Transaction, Transfer } from './resources/transaction.js';

/** The part of the port that tells what happened. */
abstract class RecordService {
  /**
   * GET /events: the events of the workspace, oldest first. A reader who follows `next` misses none. With `wait`, a call that finds
   * none waits for one. An abort of `scope.signal` ends the wait early.
   *
   * @throws Refusal `parameter_invalid` for an unknown type, for a `resourceId` without `resourceType`, and for another `wait`.
   * @throws Refusal `id_malformed`, `limit_invalid`, `cursor_invalid`, `timestamp_invalid`.
   * @throws Refusal `cursor_expired` if events behind the cursor were deleted because of their age.
   * @throws Refusal `route_not_found` from an upstream without events.
   */
  abstract listEvents(scope: Scope, query?: EventQuery): Promise<EventPage>;

  /** GET /events/{eventId}. @throws Refusal `event_not_found`; `route_not_found` as `listEvents` */
  abstract getEvent(scope: Scope, query: { readonly eventId: EventId | PlainNumber }): Promise<Event>;

  /**
   * GET /audit-events: the audit trail of the workspace, newest first. An entry appears shortly after its change.
   *
   * @throws Refusal `parameter_invalid` for a `resourceType` without `resourceId`.
   * @throws Refusal `limit_invalid`, `cursor_invalid`, `timestamp_invalid`; `route_not_found` from an upstream without an audit trail.
   */
  abstract listAuditEvents(scope: Scope, query?: AuditQuery): Promise<Page<AuditEvent>>;
}

/** The part of the port that manages webhook endpoints. Every method refuses with `route_not_found` from an upstream without webhooks. */
abstract class WebhookService extends RecordService {
  /**
   * POST /webhook-endpoints: creates an endpoint, which receives the events that are recorded from now on. The result has the secret, and
   * the replay of a request has none.
   *
   * @throws Refusal `webhook_url_refused`, `webhook_endpoint_limit`, `webhooks_unavailable`, and those of the idempotency key.
   */
  abstract createWebhookEndpoint(
    scope: Scope,
    input: CreateWebhookEndpointInput,
    options?: RequestOptions,
  ): Promise<Created<WebhookEndpointWithSecret>>;

  /** GET /webhook-endpoints: the endpoints of the workspace, newest first. @throws Refusal `limit_invalid`, `cursor_invalid` */
  abstract listWebhookEndpoints(scope: Scope, query?: PageQuery): Promise<Page<WebhookEndpoint>>;

  /** GET /webhook-endpoints/{webhookEndpointId}. @throws Refusal `webhook_endpoint_not_found` */
  abstract getWebhookEndpoint(scope: Scope, query: WebhookEndpointName): Promise<WebhookEndpoint>;

  /**
   * PATCH /webhook-endpoints/{webhookEndpointId}: changes the address, types or description, or disables or enables the endpoint.
   * Omitted fields stay.
   *
   * @throws Refusal `webhook_endpoint_not_found`; `webhook_url_refused`, `webhooks_unavailable` for an address.
   */
  abstract changeWebhookEndpoint(scope: Scope, change: WebhookEndpointChange): Promise<WebhookEndpoint>;

  /**
   * DELETE /webhook-endpoints/{webhookEndpointId}: deletes the endpoint and its secret. Its pending deliveries end.
   *
   * @throws Refusal `webhook_endpoint_not_found`.
   */
  abstract deleteWebhookEndpoint(scope: Scope, query: WebhookEndpointName): Promise<void>;

  /**
   * POST /webhook-endpoints/{webhookEndpointId}/secret-rotation: makes a new secret. The former one signs too for 24 hours.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `webhooks_unavailable`.
   */
  abstract rotateWebhookSecret(scope: Scope, query: WebhookEndpointName): Promise<WebhookEndpointWithSecret>;

  /**
   * POST /webhook-endpoints/{webhookEndpointId}/test: sends a test of the type `webhook.test`, shortly after.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `webhook_delivery_limit`.
   */
  abstract testWebhookEndpoint(scope: Scope, query: WebhookEndpointName): Promise<WebhookDelivery>;

  /**
   * POST /webhook-endpoints/{webhookEndpointId}/replay: delivers the events of a period again that the endpoint has a type of.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `timestamp_invalid`.
   * @throws Refusal `webhook_replay_limit` for a period with more than 10,000 events of all types.
   * @throws Refusal `webhook_delivery_limit` during another replay, or for too many pending or requested deliveries of the workspace.
   */
  abstract replayWebhookEvents(scope: Scope, input: WebhookReplayInput): Promise<WebhookReplay>;

  /**
   * GET /webhook-endpoints/{webhookEndpointId}/deliveries: the deliveries of an endpoint, newest first.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `limit_invalid`, `cursor_invalid`.
   */
  abstract listWebhookDeliveries(scope: Scope, query: WebhookDeliveryQuery): Promise<Page<WebhookDelivery>>;

  /**
   * POST /webhook-endpoints/{webhookEndpointId}/deliveries/{webhookDeliveryId}/retry: attempts a pending or failed delivery now.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `webhook_delivery_not_found`, `webhook_delivered`.
   * @throws Refusal `event_not_found` if the event is not kept any more, `webhook_delivery_limit`.
   */
  abstract retryWebhookDelivery(scope: Scope, query: WebhookDeliveryName): Promise<WebhookDelivery>;
}

/**
 * The port: the published interface, one method for each operation.
 *
 * It has two implementations: our own books, and another deployment of the same interface. It is an abstract class instead
 * of an interface, because it is the injection token at run time.
 *
 * Every method may also refuse with `not_authenticated`, `rate_limited` or `unavailable`; then nothing was executed. A
 * method that writes may refuse with `outcome_unknown`: it may have been executed. Any error that is not a Refusal is
 * unexpected.
 */
export abstract class BankingService extends WebhookService {
  /** GET /apps: all apps of the actor. */
  abstract listApps(scope: Scope): Promise<readonly App[]>;

  /**
   * GET /apps/{appId}/users: for an administrator of any workspace of the app, all users with all roles. For other actors,
   * themselves and the users of shared workspaces, with the shared roles only.
   *
   * @throws Refusal `app_not_found`, also for an app that the actor does not belong to.
   */
  abstract listAppUsers(scope: Scope, query: { readonly appId: AppId | PlainNumber }): Promise<readonly User[]>;

  /** GET /products: all products that accounts can be opened for. */
  abstract listProducts(scope: Scope): Promise<readonly Product[]>;

  /**
   * GET /recipients/countries/{country}/corridors: the corridors to a country, an ISO 3166-1 code of two or three letters in
   * any case. A country without corridors has an empty list.
   *
   * @throws Refusal `country_unknown` for a code that is not a country.
   */
  abstract listCorridors(scope: Scope, query: { readonly country: string }): Promise<readonly Corridor[]>;

  /**
   * GET /recipients/validation-schema: the details that a corridor requires of a beneficiary, one schema for each form. A disabled
   * corridor has its schemas too.
   *
   * @throws Refusal `corridor_not_found`.
   */
  abstract listRecipientSchemas(scope: Scope, query: CorridorQuery): Promise<readonly RecipientSchema[]>;

  /** GET /recipients: the recipients of the workspace, newest first, without deleted ones. @throws Refusal as `listAccounts` */
  abstract listRecipients(scope: Scope, query?: RecipientQuery): Promise<Page<Recipient>>;

  /** GET /recipients/{recipientId}. @throws Refusal `recipient_not_found`, also for a deleted one */
  abstract getRecipient(scope: Scope, query: { readonly recipientId: RecipientId | PlainNumber }): Promise<Recipient>;

  /**
   * POST /recipients/international: stores a recipient abroad, after its details are checked against the corridor.
   *
   * @throws Refusal `corridor_not_found`.
   * @throws Refusal `recipient_invalid` with the invalid fields, and those of the idempotency key as `openAccount`.
   */
  abstract addInternationalRecipient(
    scope: Scope,
    input: AddInternationalRecipientInput,
    options?: RequestOptions,
  ): Promise<Created<Recipient>>;

  /**
   * POST /recipients/internal: stores an account of this service as a recipient. Of an account in another workspace it reveals
   * only that it exists.
   *
   * @throws Refusal `recipient_invalid` if no account has the code, and those of the idempotency key as `openAccount`.
   */
  abstract addInternalRecipient(
    scope: Scope,
    input: AddInternalRecipientInput,
    options?: RequestOptions,
  ): Promise<Created<Recipient>>;

  /** PATCH /recipients/{recipientId}: omitted fields stay. @throws Refusal `recipient_not_found` */
  abstract changeRecipient(scope: Scope, change: RecipientChange): Promise<Recipient>;

  /** DELETE /recipients/{recipientId}: permanently. Past transfers keep theirs. @throws Refusal `recipient_not_found`, also if repeated */
  abstract deleteRecipient(scope: Scope, query: { readonly recipientId: RecipientId | PlainNumber }): Promise<void>;

  /** GET /orders/purposes: the texts of the purpose codes, by code. */
  abstract listPurposes(scope: Scope): Promise<Readonly<Record<string, string>>>;

  /**
   * GET /transfers/{transferId}: one transfer of the workspace.
   *
   * @throws Refusal `workspace_id_required` without a workspace in the scope.
   * @throws Refusal `workspace_forbidden` if the implementation checks access and the actor has no role in the workspace.
   * @throws Refusal `transfer_not_found`, also for a transfer of another workspace.
   */
  abstract getTransfer(scope: Scope, query: { readonly transferId: TransferId | PlainNumber }): Promise<Transfer>;

  /**
   * GET /transactions/{transactionId}: one transaction of the workspace with its transfers and its tracking.
   *
   * @throws Refusal `transaction_not_found`, also for a transaction of another workspace.
   */
  abstract getTransaction(
    scope: Scope,
    query: { readonly transactionId: TransactionId | PlainNumber },
  ): Promise<Transaction>;

  /** GET /accounts: the accounts of the workspace, newest first. @throws Refusal `limit_invalid`, `cursor_invalid` */
  abstract listAccounts(scope: Scope, query?: PageQuery): Promise<Page<Account>>;

  /** GET /accounts/{accountId}. @throws Refusal `account_not_found` */
  abstract getAccount(scope: Scope, query: { readonly accountId: AccountId | PlainNumber }): Promise<Account>;

  /**
   * POST /accounts: opens an account with a balance of zero.
   *
   * @throws Refusal `product_unavailable`, and those of the idempotency key: `idempotency_key_invalid`,
   *   `idempotency_in_progress`, `idempotency_key_reused`.
   */
  abstract openAccount(scope: Scope, input: OpenAccountInput, options?: RequestOptions): Promise<Created<Account>>;

  /**
   * PATCH /accounts/{accountId}: changes the alias, or disables or enables the account. Omitted fields stay. The change is
   * recorded with its user and time.
   *
   * @throws Refusal `account_not_found`.
   */
  abstract changeAccount(scope: Scope, change: AccountChange): Promise<Account>;

  /**
   * GET /accounts/{accountId}/statement: the movements of an account in a period, as of the instant of the first page.
   *
   * @throws Refusal `timestamp_invalid` for a text that is neither an instant nor a day, for one of each, and for a period that
   *   ends before it begins.
   * @throws Refusal `account_not_found`, `limit_invalid`, `cursor_invalid`.
   */
  abstract getStatement(scope: Scope, query: StatementQuery): Promise<StatementPage>;

  /**
   * POST /quotes: the price of a payment and the amount that arrives. A quote is binding until it expires, and valid for one
   * order. It does not check the balance of the account.
   *
   * @throws Refusal `body_malformed` unless exactly one of `amount` and `targetAmount` is given, and exactly one of `recipientID` and
   *   `targetCurrency`; `amount_malformed`, `amount_out_of_range`, `currency_unknown`.
   * @throws Refusal `account_not_found`, `account_disabled`, `recipient_invalid`, `corridor_disabled`,
   *   `payouts_unavailable`, `amount_below_minimum`, `amount_above_maximum`, `rate_unavailable`, and those of the idempotency key as `openAccount`.
   */
  abstract createQuote(scope: Scope, input: CreateQuoteInput, options?: RequestOptions): Promise<Created<Quote>>;

  /** GET /quotes/{quoteId}: also an expired one. @throws Refusal `quote_not_found` */
  abstract getQuote(scope: Scope, query: { readonly quoteId: QuoteId | PlainNumber }): Promise<Quote>;

  /**
   * GET /transfers: the transfers of the workspace's accounts, newest first.
   *
   * @throws Refusal `limit_invalid`, `cursor_invalid`, `timestamp_invalid`.
   * @throws Refusal `account_not_found`, `recipient_not_found` for a filter that names a record of another workspace.
   */
  abstract listTransfers(scope: Scope, query?: TransferQuery): Promise<Page<Transfer>>;

  /**
   * POST /sandbox/accounts/{accountId}/fundings: books an incoming amount, completed at once and without a fee. In a sandbox only.
   *
   * @throws Refusal `amount_malformed`, `amount_out_of_range`, `account_not_found`, `account_disabled`, `balance_limit_exceeded`, and
   *   those of the idempotency key.
   * @throws Refusal `route_not_found` from a service over HTTP without a sandbox.
   */
  abstract fundAccount(scope: Scope, input: FundAccountInput, options?: RequestOptions): Promise<Created<Transfer>>;

  /**
   * POST /sandbox/transactions/{transactionId}/events: simulates a status of the network for an international payment. The status
   * and its effects are stored before the method returns. A repeated or late status has no effect. In a sandbox only.
   *
   * @throws Refusal `transaction_not_found`, also for a transaction of another workspace or without a payout.
   * @throws Refusal `balance_limit_exceeded` if the account cannot take back a rejected amount, and those of the idempotency key.
   */
  abstract addTransactionEvent(
    scope: Scope,
    input: AddTransactionEventInput,
    options?: RequestOptions,
  ): Promise<Created<Transaction>>;

  /**
   * POST /sandbox/clock: moves the clock that the orders of the workspace run by. Due runs start at once; of several missed runs,
   * one. Everything else keeps the real time. In a sandbox only.
   *
   * @throws Refusal `timestamp_invalid`; `clock_invalid` for a time before the current one, or over 100 years ahead.
   */
  abstract moveClock(scope: Scope, change: ClockChange): Promise<SandboxClock>;

  /**
   * POST /accounts/{accountId}/orders: places an order that pays at once, later or repeatedly. An instant order has moved the money
   * when the method returns. If it is refused, nothing has changed.
   *
   * @throws Refusal `account_not_found`, `account_disabled`, `recipient_invalid`, `corridor_disabled`, `payouts_unavailable`,
   *   `amount_malformed`, `amount_out_of_range`, `amount_below_minimum`, `amount_above_maximum`, `insufficient_funds`, `purpose_code_required`,
   *   `purpose_code_invalid`, `schedule_invalid`, `quote_unusable`, `quote_expired`, `quote_used`, `rate_unavailable`,
   *   `external_reference_reused`, and those of the idempotency key as `openAccount`.
   */
  abstract placeOrder(scope: Scope, input: PlaceOrderInput, options?: RequestOptions): Promise<Created<Order>>;

  /**
   * GET /orders: the orders of the workspace, newest first, each with the latest ten of its executions.
   *
   * @throws Refusal `account_not_found`, `recipient_not_found` for a filter that names a record of another workspace.
   * @throws Refusal `limit_invalid`, `cursor_invalid`, `timestamp_invalid`.
   */
  abstract listOrders(scope: Scope, query?: OrderQuery): Promise<Page<Order>>;

  /**
   * GET /orders/{orderId}, and GET /accounts/{accountId}/orders/{orderId} if an account is given: one order with a page of its
   * executions, by sequence; the latest page first.
   *
   * @throws Refusal `order_not_found`, also for an order of another workspace, and of another account than the given one.
   * @throws Refusal `limit_invalid`, `cursor_invalid`.
   */
  abstract getOrderPage(scope: Scope, query: OrderPageQuery): Promise<OrderPage>;

  /** The first page of {@link getOrderPage}. @throws Refusal `order_not_found` */
  async getOrder(scope: Scope, { accountId, orderId }: OrderReference): Promise<Order> {
    const { next: _, ...order } = await this.getOrderPage(scope, { accountId, orderId });
    return order;
  }

  /**
   * POST /accounts/{accountId}/orders/{orderId}/cancellation: cancels the runs that are not executed yet.
   *
   * @throws Refusal `order_not_found`, `order_not_cancellable` if no run is left.
   */
  abstract cancelOrder(scope: Scope, name: OrderName): Promise<Order>;

  /**
   * POST /accounts/{accountId}/orders/{orderId}/resumption: resumes a paused order, for the user who resumes it. Of the missed runs,
   * one starts now.
   *
   * @throws Refusal `order_not_found`, `order_not_paused`.
   */
  abstract resumeOrder(scope: Scope, name: OrderName): Promise<Order>;
}
