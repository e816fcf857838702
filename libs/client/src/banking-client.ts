import {
  type Account,
  type AccountChange,
  type AccountId,
  type AccountWish,
  type App,
  type AppId,
  BankingService,
  type ClockChange,
  type Corridor,
  type CorridorQuery,
  type Created,
  type FundingWish,
  type Intent,
  type InternalRecipientWish,
  type InternationalRecipientWish,
  type Order,
  type OrderName,
  type OrderQuery,
  type OrderWish,
  type Page,
  type PageQuery,
  type Product,
  type Quote,
  type QuoteId,
  type QuoteWish,
  type Recipient,
  type RecipientChange,
  type RecipientId,
  type RecipientQuery,
  type RecipientSchema,
  Refusal,
  type SandboxClock,
  type Scope,
  type Statement,
  type StatementQuery,
  type Transaction,
  type TransactionEventWish,
  type Transfer,
  type TransferId,
  type TransferQuery,
  type User,
  type WorkspaceId,
  isIdempotencyKey,
  parseId,
} from '@banking/domain';
import { Connection, type ConnectionOptions } from './connection.js';
import { viewOf, type WorkspaceView } from './workspace-view.js';

export type BankingClientOptions = ConnectionOptions;

/**
 * The service over HTTP, as the same port the service itself answers to.
 *
 * A scope says the workspace; who asks is said by the token, so `scope.actor` is not sent. One call is one request:
 * nothing is repeated or kept.
 *
 * @throws RemoteRefusal, from every method, for what the service refuses; a plain Refusal for an argument that cannot
 *   be sent.
 * @throws ServiceError, from every method, for an answer that is neither.
 * @throws ConnectionError, from every method, without a complete answer in time.
 */
export class BankingClient extends BankingService {
  readonly #connection: Connection;

  /** @throws TypeError for a base, a token or a timeout that cannot be used. */
  constructor(options: BankingClientOptions) {
    super();
    this.#connection = new Connection(options);
  }

  async listApps(_scope: Scope = {}): Promise<readonly App[]> {
    return (await this.#connection.get('apps', 'array')) as readonly App[];
  }

  async listAppUsers(_scope: Scope, { appId }: { readonly appId: AppId }): Promise<readonly User[]> {
    return (await this.#connection.get(`apps/${digits(appId)}/users`, 'array')) as readonly User[];
  }

  async listProducts(_scope: Scope = {}): Promise<readonly Product[]> {
    return (await this.#connection.get('products', 'array')) as readonly Product[];
  }

  async listCorridors(_scope: Scope, { country }: { readonly country: string }): Promise<readonly Corridor[]> {
    const path = `recipients/countries/${segment(country)}/corridors`;
    return (await this.#connection.get(path, 'array')) as readonly Corridor[];
  }

  async listRecipientSchemas(_scope: Scope, query: CorridorQuery): Promise<readonly RecipientSchema[]> {
    const path = `recipients/validation-schema${search(query)}`;
    return (await this.#connection.get(path, 'array')) as readonly RecipientSchema[];
  }

  async listRecipients(scope: Scope, query: RecipientQuery = {}): Promise<Page<Recipient>> {
    return (await this.#connection.getPage(`recipients${search(query)}`, workspaceHeader(scope))) as Page<Recipient>;
  }

  async getRecipient(scope: Scope, { recipientId }: { readonly recipientId: RecipientId }): Promise<Recipient> {
    const path = `recipients/${digits(recipientId)}`;
    return (await this.#connection.get(path, 'object', workspaceHeader(scope))) as Recipient;
  }

  async addInternationalRecipient(
    scope: Scope,
    { countryCode, currencyCode, payoutMethod, ...body }: InternationalRecipientWish,
    intent: Intent = {},
  ): Promise<Created<Recipient>> {
    const headers = creationHeaders(scope, intent);
    const path = `recipients/international${search({ countryCode, currencyCode, payoutMethod })}`;
    return (await this.#connection.create(path, body, headers)) as Created<Recipient>;
  }

  async addInternalRecipient(
    scope: Scope,
    wish: InternalRecipientWish,
    intent: Intent = {},
  ): Promise<Created<Recipient>> {
    const headers = creationHeaders(scope, intent);
    return (await this.#connection.create('recipients/internal', wish, headers)) as Created<Recipient>;
  }

  async changeRecipient(scope: Scope, { recipientId, ...change }: RecipientChange): Promise<Recipient> {
    const path = `recipients/${digits(recipientId)}`;
    return (await this.#connection.send('PATCH', path, change, workspaceHeader(scope))) as Recipient;
  }

  async forgetRecipient(scope: Scope, { recipientId }: { readonly recipientId: RecipientId }): Promise<void> {
    await this.#connection.remove(`recipients/${digits(recipientId)}`, workspaceHeader(scope));
  }

  async listPurposes(_scope: Scope = {}): Promise<Readonly<Record<string, string>>> {
    return (await this.#connection.get('orders/purposes', 'object')) as Readonly<Record<string, string>>;
  }

  async getTransfer(scope: Scope, { transferId }: { readonly transferId: TransferId }): Promise<Transfer> {
    const path = `transfers/${digits(transferId)}`;
    return (await this.#connection.get(path, 'object', workspaceHeader(scope))) as Transfer;
  }

  async placeOrder(scope: Scope, { accountId, ...body }: OrderWish, intent: Intent = {}): Promise<Created<Order>> {
    const path = `accounts/${digits(accountId)}/orders`;
    return (await this.#connection.create(path, body, creationHeaders(scope, intent))) as Created<Order>;
  }

  async listOrders(scope: Scope, query: OrderQuery = {}): Promise<Page<Order>> {
    return (await this.#connection.getPage(`orders${search(query)}`, workspaceHeader(scope))) as Page<Order>;
  }

  async getOrder(scope: Scope, name: OrderName): Promise<Order> {
    return (await this.#connection.get(orderPath(name), 'object', workspaceHeader(scope))) as Order;
  }

  async cancelOrder(scope: Scope, name: OrderName): Promise<Order> {
    const path = `${orderPath(name)}/cancellation`;
    return (await this.#connection.send('POST', path, undefined, workspaceHeader(scope))) as Order;
  }

  async listAccounts(scope: Scope, query: PageQuery = {}): Promise<Page<Account>> {
    return (await this.#connection.getPage(`accounts${search(query)}`, workspaceHeader(scope))) as Page<Account>;
  }

  async getAccount(scope: Scope, { accountId }: { readonly accountId: AccountId }): Promise<Account> {
    return (await this.#connection.get(`accounts/${digits(accountId)}`, 'object', workspaceHeader(scope))) as Account;
  }

  async openAccount(scope: Scope, wish: AccountWish, intent: Intent = {}): Promise<Created<Account>> {
    const headers = creationHeaders(scope, intent);
    return (await this.#connection.create('accounts', wish, headers)) as Created<Account>;
  }

  async changeAccount(scope: Scope, { accountId, ...change }: AccountChange): Promise<Account> {
    const path = `accounts/${digits(accountId)}`;
    return (await this.#connection.send('PATCH', path, change, workspaceHeader(scope))) as Account;
  }

  async getStatement(scope: Scope, { accountId, from, to }: StatementQuery): Promise<Statement> {
    const path = `accounts/${digits(accountId)}/statement${search({ from, to })}`;
    return (await this.#connection.get(path, 'object', workspaceHeader(scope))) as Statement;
  }

  async createQuote(scope: Scope, wish: QuoteWish, intent: Intent = {}): Promise<Created<Quote>> {
    const headers = creationHeaders(scope, intent);
    return (await this.#connection.create('quotes', wish, headers)) as Created<Quote>;
  }

  async getQuote(scope: Scope, { quoteId }: { readonly quoteId: QuoteId }): Promise<Quote> {
    return (await this.#connection.get(`quotes/${digits(quoteId)}`, 'object', workspaceHeader(scope))) as Quote;
  }

  async listTransfers(scope: Scope, query: TransferQuery = {}): Promise<Page<Transfer>> {
    return (await this.#connection.getPage(`transfers${search(query)}`, workspaceHeader(scope))) as Page<Transfer>;
  }

  async fundAccount(scope: Scope, { accountId, amount }: FundingWish, intent: Intent = {}): Promise<Created<Transfer>> {
    const path = `sandbox/accounts/${digits(accountId)}/fundings`;
    const headers = creationHeaders(scope, intent);
    return (await this.#connection.create(path, { amount }, headers)) as Created<Transfer>;
  }

  async addTransactionEvent(
    scope: Scope,
    { transactionId, ...body }: TransactionEventWish,
    intent: Intent = {},
  ): Promise<Created<Transaction>> {
    const path = `sandbox/transactions/${digits(transactionId)}/events`;
    return (await this.#connection.create(path, body, creationHeaders(scope, intent))) as Created<Transaction>;
  }

  async moveClock(scope: Scope, change: ClockChange): Promise<SandboxClock> {
    return (await this.#connection.send('POST', 'sandbox/clock', change, workspaceHeader(scope))) as SandboxClock;
  }

  /** The same operations with the workspace said once: `client.workspace(7).getTransfer(42)`. */
  workspace(id: number): WorkspaceView {
    return viewOf(this, { workspaceId: id as WorkspaceId });
  }
}

function workspaceHeader({ workspaceId }: Scope) {
  if (workspaceId === undefined) throw new Refusal('workspace_id_required');
  return { 'Workspace-ID': digits(workspaceId, 'workspace_id_invalid') };
}

function creationHeaders(scope: Scope, { idempotencyKey }: Intent): Record<string, string> {
  const headers = workspaceHeader(scope);
  if (idempotencyKey === undefined) return headers;
  if (!isIdempotencyKey(idempotencyKey)) throw new Refusal('idempotency_key_invalid');
  return { ...headers, 'Idempotency-Key': idempotencyKey };
}

/** A query with what is given, and nothing where nothing is. */
function search(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

const orderPath = ({ accountId, orderId }: OrderName) => `accounts/${digits(accountId)}/orders/${digits(orderId)}`;

/** An id as it is sent. A caller without types may hand over anything; what is no id must not become a path. */
function digits(id: number, otherwise: 'id_malformed' | 'workspace_id_invalid' = 'id_malformed'): string {
  const text = String(id);
  if (parseId(text) === undefined) throw new Refusal(otherwise);
  return text;
}

/** A country as one segment of a path: empty, dots and half a character are no country and would be another path. */
function segment(country: string): string {
  if (/^\.{0,2}$|\p{Surrogate}/u.test(country)) throw new Refusal('country_unknown');
  return encodeURIComponent(country);
}
