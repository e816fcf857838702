import type * as port from '@banking/domain';
import { BankingService, type Scope } from '@banking/domain';
import { openBooks, type Books, booksAs, postSandboxDeposits } from '@banking/ledger';
import { type Database, WORKER_ROLE } from '@banking/postgres';
import {
  addInternalRecipient,
  addInternationalRecipient,
  changeRecipient,
  deleteRecipient,
  getRecipient,
  listRecipients,
} from './recipients/recipients.js';
import { addTransactionEvent, fundAccount, moveClock, requireSandbox } from './sandbox/sandbox.js';
import { cancelOrder, resumeOrder } from './orders/change-orders.js';
import {
  type AccountCodes,
  changeAccount,
  getAccount,
  listAccounts,
  newAccountCode,
  openAccount,
} from './accounts/accounts.js';
import { createQuote, getQuote } from './quotes/quotes.js';
import { EventWaits } from './events/event-waits.js';
import { getEvent, listEvents } from './events/events.js';
import { getOrderPage, listOrders } from './orders/read-orders.js';
import { getStatement } from './accounts/statements.js';
import { getTransaction, getTransfer, listTransfers } from './transfers/transfers.js';
import { AppUsers, listApps } from './apps/directory.js';
import { listAuditEvents } from './audit/list-audit-events.js';
import { listCorridors, listProducts, listPurposes, listRecipientSchemas } from './corridors/corridors.js';
import type { Reading } from './resources/reading.js';
import { acting, required } from './audit/audited-call.js';
import { OrderService } from './orders/order-service.js';
import type { HandOver } from './orders/post-orders.js';
import { placeOrder } from './orders/place-order.js';
import {
  listWebhookDeliveries,
  replayWebhookEvents,
  retryWebhookDelivery,
  testWebhookEndpoint,
} from './webhooks/webhook-deliveries.js';
import {
  changeWebhookEndpoint,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  getWebhookEndpoint,
  listWebhookEndpoints,
  rotateWebhookSecret,
  type WebhookTerms,
} from './webhooks/webhook-endpoints.js';
import { NO_RATES, type RateSource } from '@banking/rates';

export interface QuoteTerms extends HandOver {
  /** The source of rates. Without one, conversions are refused. */
  readonly rates?: RateSource;
  /** Whether a payment network carries out payouts. Without one, payouts are refused and no corridor is enabled. */
  readonly hasPayoutNetwork?: boolean;
  /** How long a quote is valid, in seconds, at most a day. Default 300. */
  readonly validS?: number;
  /** How many quotes of a workspace may be open: neither used nor expired. Default: any number. */
  readonly openMax?: number | undefined;
}

/** The implementation of the port on our own books. Each resource has a file of its name with its operations. */
export class LedgerBankingService extends BankingService {
  private readonly reading: Reading;
  /** What the sandbox simulates has the rights of the worker, which receives it elsewhere. */
  private readonly network: { readonly books: Books; readonly reading: Reading };
  private readonly eventWaits: EventWaits;
  private readonly appUsers: AppUsers;
  /** Batches the orders of this process. A worker in the same process uses it too. */
  readonly orders: OrderService;

  /**
   * @param books the open books of this database; they hold reserved ids
   * @param isSandbox whether orders run by the clocks of their workspaces, which can be moved
   * @param accountCodes of a deployment with several databases
   * @param webhookTerms of a deployment with a key for secrets
   */
  constructor(
    private readonly database: Database,
    books: Books = openBooks(database),
    private readonly quoteTerms: QuoteTerms = {},
    isSandbox = false,
    private readonly accountCodes?: AccountCodes,
    private readonly webhookTerms?: WebhookTerms,
  ) {
    super();
    const { rates = NO_RATES, hasPayoutNetwork, onPlaced, reservePayouts } = quoteTerms;
    this.orders = new OrderService(books, rates, { isSandbox, hasPayoutNetwork, onPlaced, reservePayouts });
    this.reading = this.orders.reading;
    this.eventWaits = new EventWaits(database);
    const asWorker = booksAs(books, WORKER_ROLE);
    this.network = { books: asWorker, reading: { ...this.reading, database: asWorker.database } };
    this.appUsers = new AppUsers(database);
  }

  listApps(scope: Scope): Promise<readonly port.App[]> {
    return listApps(this.database, required(scope.actor));
  }

  listAppUsers(scope: Scope, { appId }: { appId: port.AppId }): Promise<readonly port.User[]> {
    return this.appUsers.list(required(scope.actor), appId);
  }

  /** The same list as JSON, in parts that are read when they are asked for: objects of users, separated by commas. */
  appUserTexts(scope: Scope, { appId }: { appId: port.AppId }): AsyncGenerator<string, void> {
    return this.appUsers.textsOf(required(scope.actor), appId);
  }

  listProducts(): Promise<readonly port.Product[]> {
    return listProducts(this.reading.reference);
  }

  listCorridors(_scope: Scope, { country }: { country: string }): Promise<readonly port.Corridor[]> {
    return listCorridors(this.reading, this.orders.hasPayoutNetwork, country);
  }

  listRecipientSchemas(_scope: Scope, query: port.CorridorQuery): Promise<readonly port.RecipientSchema[]> {
    return listRecipientSchemas(this.database, query);
  }

  listRecipients(scope: Scope, query: port.RecipientQuery = {}): Promise<port.Page<port.Recipient>> {
    return listRecipients(this.reading, required(scope.workspaceId), query);
  }

  getRecipient(scope: Scope, { recipientId }: { recipientId: port.RecipientId }): Promise<port.Recipient> {
    return getRecipient(this.reading, required(scope.workspaceId), recipientId);
  }

  addInternationalRecipient(
    scope: Scope,
    input: port.AddInternationalRecipientInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.Recipient>> {
    return addInternationalRecipient(this.reading, acting(scope), input, options);
  }

  addInternalRecipient(
    scope: Scope,
    input: port.AddInternalRecipientInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.Recipient>> {
    return addInternalRecipient(this.reading, acting(scope), input, options, this.accountCodes?.currencyElsewhere);
  }

  changeRecipient(scope: Scope, change: port.RecipientChange): Promise<port.Recipient> {
    return changeRecipient(this.reading, acting(scope), change);
  }

  deleteRecipient(scope: Scope, { recipientId }: { recipientId: port.RecipientId }): Promise<void> {
    return deleteRecipient(this.database, acting(scope), recipientId);
  }

  async listPurposes(): Promise<Readonly<Record<string, string>>> {
    return listPurposes(this.orders.hasPayoutNetwork);
  }

  getTransfer(scope: Scope, { transferId }: { transferId: port.TransferId }): Promise<port.Transfer> {
    return getTransfer(this.reading, required(scope.workspaceId), transferId);
  }

  getTransaction(scope: Scope, { transactionId }: { transactionId: port.TransactionId }): Promise<port.Transaction> {
    return getTransaction(this.reading, required(scope.workspaceId), transactionId);
  }

  placeOrder(
    scope: Scope,
    input: port.PlaceOrderInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.Order>> {
    return placeOrder(this.orders, acting(scope), input, options);
  }

  listOrders(scope: Scope, query: port.OrderQuery = {}): Promise<port.Page<port.Order>> {
    return listOrders(this.reading, required(scope.workspaceId), query);
  }

  getOrderPage(scope: Scope, query: port.OrderPageQuery): Promise<port.OrderPage> {
    return getOrderPage(this.reading, required(scope.workspaceId), query);
  }

  cancelOrder(scope: Scope, name: port.OrderName): Promise<port.Order> {
    return cancelOrder(this.reading, acting(scope), name);
  }

  resumeOrder(scope: Scope, name: port.OrderName): Promise<port.Order> {
    return resumeOrder(this.reading, acting(scope), name);
  }

  listAuditEvents(scope: Scope, query: port.AuditQuery = {}): Promise<port.Page<port.AuditEvent>> {
    return listAuditEvents(this.reading, required(scope.workspaceId), query);
  }

  listAccounts(scope: Scope, query: port.PageQuery = {}): Promise<port.Page<port.Account>> {
    return listAccounts(this.reading, required(scope.workspaceId), query);
  }

  getAccount(scope: Scope, { accountId }: { accountId: port.AccountId }): Promise<port.Account> {
    return getAccount(this.reading, required(scope.workspaceId), accountId);
  }

  openAccount(
    scope: Scope,
    input: port.OpenAccountInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.Account>> {
    return openAccount(this.reading, acting(scope), input, options, this.accountCodes?.newCode ?? newAccountCode);
  }

  changeAccount(scope: Scope, change: port.AccountChange): Promise<port.Account> {
    return changeAccount(this.reading, acting(scope), change);
  }

  getStatement(scope: Scope, query: port.StatementQuery): Promise<port.StatementPage> {
    return getStatement(this.reading, required(scope.workspaceId), query);
  }

  createQuote(
    scope: Scope,
    input: port.CreateQuoteInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.Quote>> {
    const { validS = 300, openMax } = this.quoteTerms;
    const { rates, hasPayoutNetwork } = this.orders;
    return createQuote(this.reading, acting(scope), input, options, { rates, hasPayoutNetwork, validS, openMax });
  }

  getQuote(scope: Scope, { quoteId }: { quoteId: port.QuoteId }): Promise<port.Quote> {
    return getQuote(this.reading, required(scope.workspaceId), quoteId);
  }

  listTransfers(scope: Scope, query: port.TransferQuery = {}): Promise<port.Page<port.Transfer>> {
    return listTransfers(this.reading, required(scope.workspaceId), query);
  }

  async fundAccount(
    scope: Scope,
    input: port.FundAccountInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.Transfer>> {
    await requireSandbox(this.database);
    const { books, reading } = this.network;
    return fundAccount(books, reading, acting(scope), input, options, postSandboxDeposits);
  }

  async addTransactionEvent(
    scope: Scope,
    input: port.AddTransactionEventInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.Transaction>> {
    await requireSandbox(this.database);
    const { books, reading } = this.network;
    return addTransactionEvent(books, reading, acting(scope), input, options);
  }

  listEvents(scope: Scope, query: port.EventQuery = {}): Promise<port.EventPage> {
    return listEvents(this.reading, this.eventWaits, required(scope.workspaceId), query, scope.signal);
  }

  getEvent(scope: Scope, { eventId }: { eventId: port.EventId }): Promise<port.Event> {
    return getEvent(this.reading, required(scope.workspaceId), eventId);
  }

  async moveClock(scope: Scope, change: port.ClockChange): Promise<port.SandboxClock> {
    await requireSandbox(this.database);
    return moveClock(this.database, acting(scope), change);
  }

  async createWebhookEndpoint(
    scope: Scope,
    input: port.CreateWebhookEndpointInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.WebhookEndpointWithSecret>> {
    return createWebhookEndpoint(this.reading, acting(scope), input, options, this.webhookTerms);
  }

  listWebhookEndpoints(scope: Scope, query: port.PageQuery = {}): Promise<port.Page<port.WebhookEndpoint>> {
    return listWebhookEndpoints(this.reading, required(scope.workspaceId), query);
  }

  getWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookEndpoint> {
    return getWebhookEndpoint(this.reading, required(scope.workspaceId), query);
  }

  changeWebhookEndpoint(scope: Scope, change: port.WebhookEndpointChange): Promise<port.WebhookEndpoint> {
    return changeWebhookEndpoint(this.reading, acting(scope), change, this.webhookTerms);
  }

  deleteWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<void> {
    return deleteWebhookEndpoint(this.database, acting(scope), query);
  }

  rotateWebhookSecret(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookEndpointWithSecret> {
    return rotateWebhookSecret(this.reading, acting(scope), query, this.webhookTerms);
  }

  testWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookDelivery> {
    return testWebhookEndpoint(this.database, acting(scope), query);
  }

  replayWebhookEvents(scope: Scope, input: port.WebhookReplayInput): Promise<port.WebhookReplay> {
    return replayWebhookEvents(this.database, acting(scope), input);
  }

  listWebhookDeliveries(scope: Scope, query: port.WebhookDeliveryQuery): Promise<port.Page<port.WebhookDelivery>> {
    return listWebhookDeliveries(this.reading, required(scope.workspaceId), query);
  }

  retryWebhookDelivery(scope: Scope, query: port.WebhookDeliveryName): Promise<port.WebhookDelivery> {
    return retryWebhookDelivery(this.database, acting(scope), query);
  }
}
