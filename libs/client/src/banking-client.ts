import { type Account, type AccountChange, type AccountId, type AccountWish, type App, type AppId, BankingService, type ClockChange, type Corridor, type CorridorQuery, type FundingWish, type InternalRecipientWish, type InternationalRecipientWish, type Order, type OrderName, type OrderPage, type OrderPageQuery, type OrderQuery, type OrderWish, type Page, type PageQuery, type PlainNumber, type Product, type Quote, type QuoteId, type QuoteWish, type Recipient, type RecipientChange, type RecipientId, type RecipientQuery, type RecipientSchema, type SandboxClock, type Scope, type StatementPage, type StatementQuery, type Transaction, type TransactionEventWish, type Transfer, type TransferId, type TransferQuery, type User, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { Connection, type ConnectionOptions } from './connection.js';
import { digits, search, segment } from './arguments.js';
import { Calls, everywhere, inWorkspace, type Made } from './calls.js';
import type { CallOptions, CreationOptions } from './sending.js';
import { viewOf, type WorkspaceView } from './workspace-view.js';

export type BankingClientOptions = ConnectionOptions;

/**
 * The service over HTTP, as the same port the service itself answers to.
 *
 * A scope says the workspace; who asks is said by the token, so `scope.actor` is not sent: only a `fetch` of your own
 * sees it, in `call`. Every call has a deadline
 * for all its tries. What can be repeated without harm is; the README says when.
 *
 * @throws RemoteRefusal, from every method, for what the service refuses; a plain Refusal for an argument that cannot
 *   be sent.
 * @throws ServiceError, from every method, for an answer that is neither.
 * @throws ConnectionError, from every method, without a complete answer in time.
 * @throws OutcomeUnknownError, from every method that makes or changes something, instead of the others where it is
 *   not known whether it was done.
 */
export class BankingClient extends BankingService {
  readonly #calls: Calls;

  /** @throws TypeError for a base, a token, a timeout or a number of retries that cannot be used. */
  constructor(options: BankingClientOptions) {
    super();
    this.#calls = new Calls(new Connection(options));
  }

  async listApps(scope: Scope = {}, options?: CallOptions): Promise<readonly App[]> {
    return this.#calls.list('listApps', everywhere(scope), 'apps', options);
  }

  async listAppUsers(
    scope: Scope,
    { appId }: { readonly appId: AppId },
    options?: CallOptions,
  ): Promise<readonly User[]> {
    return this.#calls.list('listAppUsers', everywhere(scope), `apps/${digits(appId)}/users`, options);
  }

  async listProducts(scope: Scope = {}, options?: CallOptions): Promise<readonly Product[]> {
    return this.#calls.list('listProducts', everywhere(scope), 'products', options);
  }

  async listCorridors(
    scope: Scope,
    { country }: { readonly country: string },
    options?: CallOptions,
  ): Promise<readonly Corridor[]> {
    const formerPath = `countries/${segment(country)}/corridors`;
    return this.#calls.movedList('listCorridors', everywhere(scope), formerPath, options);
  }

  async listRecipientSchemas(
    scope: Scope,
    query: CorridorQuery,
    options?: CallOptions,
  ): Promise<readonly RecipientSchema[]> {
    const formerPath = `validation-schema${search(query)}`;
    return this.#calls.movedList('listRecipientSchemas', everywhere(scope), formerPath, options);
  }

  async listRecipients(scope: Scope, query: RecipientQuery = {}, options?: CallOptions): Promise<Page<Recipient>> {
    return this.#calls.page('listRecipients', inWorkspace(scope), `recipients${search(query)}`, options);
  }

  async getRecipient(
    scope: Scope,
    { recipientId }: { readonly recipientId: RecipientId },
    options?: CallOptions,
  ): Promise<Recipient> {
    return this.#calls.one(
      'getRecipient',
      inWorkspace(scope),
      `recipients/${digits(recipientId)}`,
      options,
      recipientId,
    );
  }

  async addInternationalRecipient(
    scope: Scope,
    { countryCode, currencyCode, payoutMethod, ...body }: InternationalRecipientWish,
    options?: CreationOptions,
  ): Promise<Made<Recipient>> {
    const path = `recipients/international${search({ countryCode, currencyCode, payoutMethod })}`;
    return this.#calls.create('addInternationalRecipient', scope, path, body, options);
  }

  async addInternalRecipient(
    scope: Scope,
    wish: InternalRecipientWish,
    options?: CreationOptions,
  ): Promise<Made<Recipient>> {
    return this.#calls.create('addInternalRecipient', scope, 'recipients/internal', wish, options);
  }

  async changeRecipient(
    scope: Scope,
    { recipientId, ...body }: RecipientChange,
    options?: CallOptions,
  ): Promise<Recipient> {
    const path = `recipients/${digits(recipientId)}`;
    return this.#calls.change('changeRecipient', scope, 'PATCH', path, { body, id: recipientId }, options);
  }

  async forgetRecipient(
    scope: Scope,
    { recipientId }: { readonly recipientId: RecipientId },
    options?: CallOptions,
  ): Promise<void> {
    return this.#calls.remove('forgetRecipient', scope, `recipients/${digits(recipientId)}`, options);
  }

  async listPurposes(scope: Scope = {}, options?: CallOptions): Promise<Readonly<Record<string, string>>> {
    return this.#calls.one('listPurposes', everywhere(scope), 'orders/purposes', options);
  }

  async getTransfer(
    scope: Scope,
    { transferId }: { readonly transferId: TransferId },
    options?: CallOptions,
  ): Promise<Transfer> {
    return this.#calls.one('getTransfer', inWorkspace(scope), `transfers/${digits(transferId)}`, options, transferId);
  }

  async placeOrder(scope: Scope, { accountId, ...body }: OrderWish, options?: CreationOptions): Promise<Made<Order>> {
    return this.#calls.create('placeOrder', scope, `accounts/${digits(accountId)}/orders`, body, options);
  }

  async listOrders(scope: Scope, query: OrderQuery = {}, options?: CallOptions): Promise<Page<Order>> {
    return this.#calls.page('listOrders', inWorkspace(scope), `orders${search(query)}`, options);
  }

  async getOrderPage(scope: Scope, query: OrderPageQuery, options?: CallOptions): Promise<OrderPage> {
    const { limit, cursor, orderId } = query;
    const path = `${orderPath(query)}${search({ limit, cursor })}`;
    return this.#calls.orderPage('getOrder', inWorkspace(scope), path, options, orderId);
  }

  override async getOrder(scope: Scope, { accountId, orderId }: OrderName, options?: CallOptions): Promise<Order> {
    return (await this.getOrderPage(scope, { accountId, orderId }, options)).order;
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
    { accountId }: { readonly accountId: AccountId },
    options?: CallOptions,
  ): Promise<Account> {
    return this.#calls.one('getAccount', inWorkspace(scope), `accounts/${digits(accountId)}`, options, accountId);
  }

  async openAccount(scope: Scope, wish: AccountWish, options?: CreationOptions): Promise<Made<Account>> {
    return this.#calls.create('openAccount', scope, 'accounts', wish, options);
  }

  async changeAccount(scope: Scope, { accountId, ...body }: AccountChange, options?: CallOptions): Promise<Account> {
    const path = `accounts/${digits(accountId)}`;
    return this.#calls.change('changeAccount', scope, 'PATCH', path, { body, id: accountId }, options);
  }

  async getStatement(scope: Scope, query: StatementQuery, options?: CallOptions): Promise<StatementPage> {
    const path = `accounts/${digits(query.accountId)}/statement${search({ ...query, accountId: undefined })}`;
    return this.#calls.pagedRecord('getStatement', inWorkspace(scope), path, options);
  }

  async createQuote(scope: Scope, wish: QuoteWish, options?: CreationOptions): Promise<Made<Quote>> {
    return this.#calls.create('createQuote', scope, 'quotes', wish, options);
  }

  async getQuote(scope: Scope, { quoteId }: { readonly quoteId: QuoteId }, options?: CallOptions): Promise<Quote> {
    return this.#calls.one('getQuote', inWorkspace(scope), `quotes/${digits(quoteId)}`, options, quoteId);
  }

  async listTransfers(scope: Scope, query: TransferQuery = {}, options?: CallOptions): Promise<Page<Transfer>> {
    return this.#calls.page('listTransfers', inWorkspace(scope), `transfers${search(query)}`, options);
  }

  async fundAccount(
    scope: Scope,
    { accountId, amount }: FundingWish,
    options?: CreationOptions,
  ): Promise<Made<Transfer>> {
    return this.#calls.create(
      'fundAccount',
      scope,
      `sandbox/accounts/${digits(accountId)}/fundings`,
      { amount },
      options,
    );
  }

  async addTransactionEvent(
    scope: Scope,
    { transactionId, ...body }: TransactionEventWish,
    options?: CreationOptions,
  ): Promise<Made<Transaction>> {
    const path = `sandbox/transactions/${digits(transactionId)}/events`;
    return this.#calls.create('addTransactionEvent', scope, path, body, options, transactionId);
  }

  async moveClock(scope: Scope, change: ClockChange, options?: CallOptions): Promise<SandboxClock> {
    return this.#calls.change('moveClock', scope, 'POST', 'sandbox/clock', { body: change }, options);
  }

  /** The same operations with the workspace said once: `client.workspace(7).transfers.get(42)`. */
  workspace(id: WorkspaceId | PlainNumber): WorkspaceView {
    return viewOf(this, { workspaceId: id as WorkspaceId });
  }
}

const orderPath = ({ accountId, orderId }: OrderName) => `accounts/${digits(accountId)}/orders/${digits(orderId)}`;
