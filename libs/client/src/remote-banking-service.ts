import {
  BankingService,
  type Event,
  type EventId,
  type EventPage,
  type EventQuery,
  type PlainNumber,
  type Scope,
  type CreateWebhookEndpointInput,
  type Page,
  type PageQuery,
  type WebhookDelivery,
  type WebhookDeliveryName,
  type WebhookDeliveryQuery,
  type WebhookEndpoint,
  type WebhookEndpointChange,
  type WebhookEndpointName,
  type WebhookEndpointWithSecret,
  type WebhookReplay,
  type WebhookReplayInput,
  type Account,
  type AccountChange,
  type AccountId,
  type OpenAccountInput,
  type App,
  type AppId,
  type AuditEvent,
  type AuditQuery,
  type ClockChange,
  type Corridor,
  type CorridorQuery,
  type FundAccountInput,
  type AddInternalRecipientInput,
  type AddInternationalRecipientInput,
  type Order,
  type OrderName,
  type OrderPage,
  type OrderPageQuery,
  type OrderQuery,
  type OrderReference,
  type PlaceOrderInput,
  type Product,
  type Quote,
  type QuoteId,
  type CreateQuoteInput,
  type Recipient,
  type RecipientChange,
  type RecipientId,
  type RecipientQuery,
  type RecipientSchema,
  type SandboxClock,
  type StatementPage,
  type StatementQuery,
  type Transaction,
  type TransactionId,
  type AddTransactionEventInput,
  type Transfer,
  type TransferId,
  type TransferQuery,
  type User,
} from '@banking/domain';
import {
  digits,
  search,
  orderPath,
  segment,
  Calls,
  inWorkspace,
  type CreationResult,
  withoutWorkspace,
} from './calls.js';
import type { CallOptions, CreationOptions } from './transport.js';
import { HttpTransport, type HttpTransportOptions } from './http-transport.js';

/** The operations of the port that tell what happened, over HTTP. */
abstract class RemoteRecordService extends BankingService {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    super();
    this.#calls = calls;
  }

  async listEvents(scope: Scope, query: EventQuery = {}, options?: CallOptions): Promise<EventPage> {
    const holdMs = (query.wait ?? 0) * 1_000;
    return this.#calls.followedPage<Event>('listEvents', inWorkspace(scope), `events${search(query)}`, holdMs, options);
  }

  async getEvent(
    scope: Scope,
    { eventId }: { readonly eventId: EventId | PlainNumber },
    options?: CallOptions,
  ): Promise<Event> {
    return this.#calls.get('getEvent', inWorkspace(scope), `events/${digits(eventId)}`, options, eventId);
  }
}

const ENDPOINTS = 'webhook-endpoints';

const pathOf = (id: number): string => `${ENDPOINTS}/${digits(id)}`;

/** The operations of the port for webhook endpoints, over HTTP. */
abstract class RemoteWebhookService extends RemoteRecordService {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    super(calls);
    this.#calls = calls;
  }

  async createWebhookEndpoint(
    scope: Scope,
    input: CreateWebhookEndpointInput,
    options?: CreationOptions,
  ): Promise<CreationResult<WebhookEndpointWithSecret>> {
    return this.#calls.create('createWebhookEndpoint', scope, ENDPOINTS, input, options);
  }

  async listWebhookEndpoints(
    scope: Scope,
    query: PageQuery = {},
    options?: CallOptions,
  ): Promise<Page<WebhookEndpoint>> {
    return this.#calls.page('listWebhookEndpoints', inWorkspace(scope), `${ENDPOINTS}${search(query)}`, options);
  }

  async getWebhookEndpoint(
    scope: Scope,
    { webhookEndpointId: id }: WebhookEndpointName,
    options?: CallOptions,
  ): Promise<WebhookEndpoint> {
    return this.#calls.get('getWebhookEndpoint', inWorkspace(scope), pathOf(id), options, id);
  }

  async changeWebhookEndpoint(
    scope: Scope,
    { webhookEndpointId: id, ...body }: WebhookEndpointChange,
    options?: CallOptions,
  ): Promise<WebhookEndpoint> {
    return this.#calls.change('changeWebhookEndpoint', scope, 'PATCH', pathOf(id), { body, id }, options);
  }

  async deleteWebhookEndpoint(
    scope: Scope,
    { webhookEndpointId: id }: WebhookEndpointName,
    options?: CallOptions,
  ): Promise<void> {
    return this.#calls.remove('deleteWebhookEndpoint', scope, pathOf(id), options);
  }

  async rotateWebhookSecret(
    scope: Scope,
    { webhookEndpointId: id }: WebhookEndpointName,
    options?: CallOptions,
  ): Promise<WebhookEndpointWithSecret> {
    const path = `${pathOf(id)}/secret-rotation`;
    return this.#calls.change('rotateWebhookSecret', scope, 'POST', path, { id }, options);
  }

  async testWebhookEndpoint(
    scope: Scope,
    { webhookEndpointId: id }: WebhookEndpointName,
    options?: CallOptions,
  ): Promise<WebhookDelivery> {
    const path = `${pathOf(id)}/test`;
    return this.#calls.change('testWebhookEndpoint', scope, 'POST', path, { isDeferred: true }, options);
  }

  async replayWebhookEvents(
    scope: Scope,
    { webhookEndpointId: id, ...body }: WebhookReplayInput,
    options?: CallOptions,
  ): Promise<WebhookReplay> {
    const path = `${pathOf(id)}/replay`;
    return this.#calls.change('replayWebhookEvents', scope, 'POST', path, { body, isDeferred: true }, options);
  }

  async listWebhookDeliveries(
    scope: Scope,
    { webhookEndpointId: id, ...query }: WebhookDeliveryQuery,
    options?: CallOptions,
  ): Promise<Page<WebhookDelivery>> {
    const path = `${pathOf(id)}/deliveries${search(query)}`;
    return this.#calls.page('listWebhookDeliveries', inWorkspace(scope), path, options);
  }

  async retryWebhookDelivery(
    scope: Scope,
    { webhookEndpointId, webhookDeliveryId: id }: WebhookDeliveryName,
    options?: CallOptions,
  ): Promise<WebhookDelivery> {
    const path = `${pathOf(webhookEndpointId)}/deliveries/${digits(id)}/retry`;
    return this.#calls.change('retryWebhookDelivery', scope, 'POST', path, { id, isDeferred: true }, options);
  }
}

/**
 * The port over HTTP, for programs that run on any implementation of it. Each method also takes options for one call. Deadlines,
 * retries and errors are those of `BankingClient`.
 *
 * The scope names the workspace. The token names the caller, so `scope.actor` is not sent; only a custom `fetch` sees it, in `call`.
 */
export class RemoteBankingService extends RemoteWebhookService {
  readonly #calls: Calls;

  /** @throws TypeError for an invalid base URL, token, timeout or number of retries. */
  constructor(options: HttpTransportOptions) {
    const calls = new Calls(new HttpTransport(options));
    super(calls);
    this.#calls = calls;
  }

  async listApps(scope: Scope = {}, options?: CallOptions): Promise<readonly App[]> {
    return this.#calls.list('listApps', withoutWorkspace(scope), 'apps', options);
  }

  async listAppUsers(
    scope: Scope,
    { appId }: { readonly appId: AppId | PlainNumber },
    options?: CallOptions,
  ): Promise<readonly User[]> {
    return this.#calls.list('listAppUsers', withoutWorkspace(scope), `apps/${digits(appId)}/users`, options);
  }

  async listProducts(scope: Scope = {}, options?: CallOptions): Promise<readonly Product[]> {
    return this.#calls.list('listProducts', withoutWorkspace(scope), 'products', options);
  }

  async listCorridors(
    scope: Scope,
    { country }: { readonly country: string },
    options?: CallOptions,
  ): Promise<readonly Corridor[]> {
    const formerPath = `countries/${segment(country)}/corridors`;
    return this.#calls.movedList('listCorridors', withoutWorkspace(scope), formerPath, options);
  }

  async listRecipientSchemas(
    scope: Scope,
    query: CorridorQuery,
    options?: CallOptions,
  ): Promise<readonly RecipientSchema[]> {
    const formerPath = `validation-schema${search(query)}`;
    return this.#calls.movedList('listRecipientSchemas', withoutWorkspace(scope), formerPath, options);
  }

  async listRecipients(scope: Scope, query: RecipientQuery = {}, options?: CallOptions): Promise<Page<Recipient>> {
    return this.#calls.page('listRecipients', inWorkspace(scope), `recipients${search(query)}`, options);
  }

  async getRecipient(
    scope: Scope,
    { recipientId }: { readonly recipientId: RecipientId | PlainNumber },
    options?: CallOptions,
  ): Promise<Recipient> {
    const path = `recipients/${digits(recipientId)}`;
    return this.#calls.get('getRecipient', inWorkspace(scope), path, options, recipientId);
  }

  async addInternationalRecipient(
    scope: Scope,
    { countryCode, currencyCode, payoutMethod, ...body }: AddInternationalRecipientInput,
    options?: CreationOptions,
  ): Promise<CreationResult<Recipient>> {
    const path = `recipients/international${search({ countryCode, currencyCode, payoutMethod })}`;
    return this.#calls.create('addInternationalRecipient', scope, path, body, options);
  }

  async addInternalRecipient(
    scope: Scope,
    input: AddInternalRecipientInput,
    options?: CreationOptions,
  ): Promise<CreationResult<Recipient>> {
    return this.#calls.create('addInternalRecipient', scope, 'recipients/internal', input, options);
  }

  async changeRecipient(
    scope: Scope,
    { recipientId, ...body }: RecipientChange,
    options?: CallOptions,
  ): Promise<Recipient> {
    const path = `recipients/${digits(recipientId)}`;
    return this.#calls.change('changeRecipient', scope, 'PATCH', path, { body, id: recipientId }, options);
  }

  async deleteRecipient(
    scope: Scope,
    { recipientId }: { readonly recipientId: RecipientId | PlainNumber },
    options?: CallOptions,
  ): Promise<void> {
    return this.#calls.remove('deleteRecipient', scope, `recipients/${digits(recipientId)}`, options);
  }

  async listPurposes(scope: Scope = {}, options?: CallOptions): Promise<Readonly<Record<string, string>>> {
    return this.#calls.get('listPurposes', withoutWorkspace(scope), 'orders/purposes', options);
  }

  async getTransfer(
    scope: Scope,
    { transferId }: { readonly transferId: TransferId | PlainNumber },
    options?: CallOptions,
  ): Promise<Transfer> {
    return this.#calls.get('getTransfer', inWorkspace(scope), `transfers/${digits(transferId)}`, options, transferId);
  }

  async getTransaction(
    scope: Scope,
    { transactionId }: { readonly transactionId: TransactionId | PlainNumber },
    options?: CallOptions,
  ): Promise<Transaction> {
    const path = `transactions/${digits(transactionId)}`;
    return this.#calls.get('getTransaction', inWorkspace(scope), path, options, transactionId);
  }

  async placeOrder(
    scope: Scope,
    { accountId, ...body }: PlaceOrderInput,
    options?: CreationOptions,
  ): Promise<CreationResult<Order>> {
    return this.#calls.create('placeOrder', scope, `accounts/${digits(accountId)}/orders`, body, options);
  }

  async listOrders(scope: Scope, query: OrderQuery = {}, options?: CallOptions): Promise<Page<Order>> {
    return this.#calls.page('listOrders', inWorkspace(scope), `orders${search(query)}`, options);
  }

  async listAuditEvents(scope: Scope, query: AuditQuery = {}, options?: CallOptions): Promise<Page<AuditEvent>> {
    return this.#calls.page('listAuditEvents', inWorkspace(scope), `audit-events${search(query)}`, options);
  }

  async getOrderPage(scope: Scope, query: OrderPageQuery, options?: CallOptions): Promise<OrderPage> {
    const { limit, cursor, accountId, orderId } = query;
    const [operation, path] =
      accountId === undefined
        ? ['getOrderById', `orders/${digits(orderId)}`]
        : ['getOrder', orderPath({ accountId, orderId })];
    return this.#calls.pagedRecord(
      operation,
      inWorkspace(scope),
      `${path}${search({ limit, cursor })}`,
      options,
      orderId,
    );
  }

  override async getOrder(scope: Scope, { accountId, orderId }: OrderReference, options?: CallOptions): Promise<Order> {
    const { next: _, ...order } = await this.getOrderPage(scope, { accountId, orderId }, options);
    return order;
  }

  async cancelOrder(scope: Scope, name: OrderName, options?: CallOptions): Promise<Order> {
    const path = `${orderPath(name)}/cancellation`;
    return this.#calls.change('cancelOrder', scope, 'POST', path, { id: name.orderId }, options);
  }

  async resumeOrder(scope: Scope, name: OrderName, options?: CallOptions): Promise<Order> {
    const path = `${orderPath(name)}/resumption`;
    return this.#calls.change('resumeOrder', scope, 'POST', path, { id: name.orderId }, options);
  }

  async listAccounts(scope: Scope, query: PageQuery = {}, options?: CallOptions): Promise<Page<Account>> {
    return this.#calls.page('listAccounts', inWorkspace(scope), `accounts${search(query)}`, options);
  }

  async getAccount(
    scope: Scope,
    { accountId }: { readonly accountId: AccountId | PlainNumber },
    options?: CallOptions,
  ): Promise<Account> {
    return this.#calls.get('getAccount', inWorkspace(scope), `accounts/${digits(accountId)}`, options, accountId);
  }

  async openAccount(
    scope: Scope,
    input: OpenAccountInput,
    options?: CreationOptions,
  ): Promise<CreationResult<Account>> {
    return this.#calls.create('openAccount', scope, 'accounts', input, options);
  }

  async changeAccount(scope: Scope, { accountId, ...body }: AccountChange, options?: CallOptions): Promise<Account> {
    const path = `accounts/${digits(accountId)}`;
    return this.#calls.change('changeAccount', scope, 'PATCH', path, { body, id: accountId }, options);
  }

  async getStatement(scope: Scope, query: StatementQuery, options?: CallOptions): Promise<StatementPage> {
    const path = `accounts/${digits(query.accountId)}/statement${search({ ...query, accountId: undefined })}`;
    return this.#calls.pagedRecord('getStatement', inWorkspace(scope), path, options);
  }

  async createQuote(scope: Scope, input: CreateQuoteInput, options?: CreationOptions): Promise<CreationResult<Quote>> {
    return this.#calls.create('createQuote', scope, 'quotes', input, options);
  }

  async getQuote(
    scope: Scope,
    { quoteId }: { readonly quoteId: QuoteId | PlainNumber },
    options?: CallOptions,
  ): Promise<Quote> {
    return this.#calls.get('getQuote', inWorkspace(scope), `quotes/${digits(quoteId)}`, options, quoteId);
  }

  async listTransfers(scope: Scope, query: TransferQuery = {}, options?: CallOptions): Promise<Page<Transfer>> {
    return this.#calls.page('listTransfers', inWorkspace(scope), `transfers${search(query)}`, options);
  }

  async fundAccount(
    scope: Scope,
    { accountId, amount }: FundAccountInput,
    options?: CreationOptions,
  ): Promise<CreationResult<Transfer>> {
    const path = `sandbox/accounts/${digits(accountId)}/fundings`;
    return this.#calls.create('fundAccount', scope, path, { amount }, options);
  }

  async addTransactionEvent(
    scope: Scope,
    { transactionId, ...body }: AddTransactionEventInput,
    options?: CreationOptions,
  ): Promise<CreationResult<Transaction>> {
    const path = `sandbox/transactions/${digits(transactionId)}/events`;
    return this.#calls.create('addTransactionEvent', scope, path, body, options, transactionId);
  }

  async moveClock(scope: Scope, change: ClockChange, options?: CallOptions): Promise<SandboxClock> {
    return this.#calls.change('moveClock', scope, 'POST', 'sandbox/clock', { body: change }, options);
  }
}
