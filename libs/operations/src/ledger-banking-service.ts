import {
  BankingService,
  type Order,
  type OrderName,
  type OrderPage,
  type OrderPageQuery,
  type OrderQuery,
  type PlaceOrderInput,
  type Account,
  type AccountChange,
  type AccountId,
  type OpenAccountInput,
  type App,
  type AppId,
  type ClockChange,
  type Corridor,
  type CorridorQuery,
  type Created,
  type Event,
  type EventId,
  type EventPage,
  type EventQuery,
  type FundAccountInput,
  type RequestOptions,
  type AddInternalRecipientInput,
  type AddInternationalRecipientInput,
  type Page,
  type PageQuery,
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
  type Scope,
  type StatementPage,
  type StatementQuery,
  type Transaction,
  type AddTransactionEventInput,
  type Transfer,
  type TransferId,
  type TransferQuery,
  type User,
} from '@banking/domain';
import { openBooks, type Books } from '@banking/ledger';
import type { Database } from '@banking/postgres';
import { addInternalRecipient } from './recipients/add-internal-recipient.js';
import { addInternationalRecipient } from './recipients/add-international-recipient.js';
import { addTransactionEvent } from './sandbox/add-transaction-event.js';
import { cancelOrder } from './orders/cancel-order.js';
import { changeAccount } from './accounts/change-account.js';
import { changeRecipient } from './recipients/change-recipient.js';
import { createQuote } from './quotes/create-quote.js';
import { requireSandbox } from './sandbox/require-sandbox.js';
import { deleteRecipient } from './recipients/delete-recipient.js';
import { EventWaits } from './events/event-waits.js';
import { fundAccount } from './sandbox/fund-account.js';
import { getEvent } from './events/get-event.js';
import { getAccount } from './accounts/get-account.js';
import { getQuote } from './quotes/get-quote.js';
import { getOrderPage } from './orders/get-order.js';
import { getRecipient } from './recipients/get-recipient.js';
import { getStatement } from './accounts/get-statement.js';
import { getTransfer } from './transfers/get-transfer.js';
import { listAccounts } from './accounts/list-accounts.js';
import { moveClock } from './sandbox/sandbox-clock.js';
import { newAccountCode } from './accounts/account-code.js';
import type { AccountCodes } from './accounts/account-codes.js';
import { openAccount } from './accounts/open-account.js';
import { listAppUsers } from './apps/list-app-users.js';
import { listApps } from './apps/list-apps.js';
import { listCorridors } from './corridors/list-corridors.js';
import { listEvents } from './events/list-events.js';
import { listOrders } from './orders/list-orders.js';
import { listProducts } from './products/list-products.js';
import { listPurposes } from './orders/list-purposes.js';
import { listRecipientSchemas } from './recipients/list-recipient-schemas.js';
import { listRecipients } from './recipients/list-recipients.js';
import { listTransfers } from './transfers/list-transfers.js';
import { resumeOrder } from './orders/resume-order.js';
import type { Reading } from './resources/reading.js';
import { OrderService } from './orders/order-service.js';
import { placeOrder } from './orders/place-order.js';
import { NO_RATES, type RateSource } from '@banking/rates';

export interface QuoteTerms {
  /** The source of rates. Without one, conversions are refused. */
  readonly rates?: RateSource;
  /** How long a quote is valid, in seconds, at most a day. Default 300. */
  readonly validS?: number;
  /** How many quotes of a workspace may be open: neither used nor expired. Default: any number. */
  readonly openMax?: number | undefined;
}

/** The implementation of the port on our own books. Each operation is a file of its name. */
export class LedgerBankingService extends BankingService {
  private readonly reading: Reading;
  private readonly eventWaits: EventWaits;
  /** Batches the orders of this process. A worker in the same process uses it too. */
  readonly orders: OrderService;

  /**
   * @param books the open books of this database; they hold reserved ids
   * @param isSandbox whether orders run by the clocks of their workspaces, which can be moved
   * @param accountCodes of a deployment with several databases
   */
  constructor(
    private readonly database: Database,
    private readonly books: Books = openBooks(database),
    private readonly quoteTerms: QuoteTerms = {},
    isSandbox = false,
    private readonly accountCodes?: AccountCodes,
  ) {
    super();
    this.orders = new OrderService(books, quoteTerms.rates ?? NO_RATES, { isSandbox });
    this.reading = this.orders.reading;
    this.eventWaits = new EventWaits(database);
  }

  listApps(scope: Scope): Promise<readonly App[]> {
    return listApps(this.database, required(scope.actor));
  }

  listAppUsers(scope: Scope, { appId }: { appId: AppId }): Promise<readonly User[]> {
    return listAppUsers(this.database, required(scope.actor), appId);
  }

  listProducts(): Promise<readonly Product[]> {
    return listProducts(this.reading.reference);
  }

  listCorridors(_scope: Scope, { country }: { country: string }): Promise<readonly Corridor[]> {
    return listCorridors(this.reading, country);
  }

  listRecipientSchemas(_scope: Scope, query: CorridorQuery): Promise<readonly RecipientSchema[]> {
    return listRecipientSchemas(this.database, query);
  }

  listRecipients(scope: Scope, query: RecipientQuery = {}): Promise<Page<Recipient>> {
    return listRecipients(this.reading, required(scope.workspaceId), query);
  }

  getRecipient(scope: Scope, { recipientId }: { recipientId: RecipientId }): Promise<Recipient> {
    return getRecipient(this.reading, required(scope.workspaceId), recipientId);
  }

  addInternationalRecipient(
    scope: Scope,
    input: AddInternationalRecipientInput,
    options: RequestOptions = {},
  ): Promise<Created<Recipient>> {
    return addInternationalRecipient(this.reading, acting(scope), input, options);
  }

  addInternalRecipient(
    scope: Scope,
    input: AddInternalRecipientInput,
    options: RequestOptions = {},
  ): Promise<Created<Recipient>> {
    return addInternalRecipient(this.reading, acting(scope), input, options, this.accountCodes?.currencyElsewhere);
  }

  changeRecipient(scope: Scope, change: RecipientChange): Promise<Recipient> {
    return changeRecipient(this.reading, acting(scope), change);
  }

  deleteRecipient(scope: Scope, { recipientId }: { recipientId: RecipientId }): Promise<void> {
    return deleteRecipient(this.database, acting(scope), recipientId);
  }

  async listPurposes(): Promise<Readonly<Record<string, string>>> {
    return listPurposes();
  }

  getTransfer(scope: Scope, { transferId }: { transferId: TransferId }): Promise<Transfer> {
    return getTransfer(this.reading, required(scope.workspaceId), transferId);
  }

  placeOrder(scope: Scope, input: PlaceOrderInput, options: RequestOptions = {}): Promise<Created<Order>> {
    return placeOrder(this.orders, acting(scope), input, options);
  }

  listOrders(scope: Scope, query: OrderQuery = {}): Promise<Page<Order>> {
    return listOrders(this.reading, required(scope.workspaceId), query);
  }

  getOrderPage(scope: Scope, query: OrderPageQuery): Promise<OrderPage> {
    return getOrderPage(this.reading, required(scope.workspaceId), query);
  }

  cancelOrder(scope: Scope, name: OrderName): Promise<Order> {
    return cancelOrder(this.reading, acting(scope), name);
  }

  resumeOrder(scope: Scope, name: OrderName): Promise<Order> {
    return resumeOrder(this.reading, acting(scope), name);
  }

  listAccounts(scope: Scope, query: PageQuery = {}): Promise<Page<Account>> {
    return listAccounts(this.reading, required(scope.workspaceId), query);
  }

  getAccount(scope: Scope, { accountId }: { accountId: AccountId }): Promise<Account> {
    return getAccount(this.reading, required(scope.workspaceId), accountId);
  }

  openAccount(scope: Scope, input: OpenAccountInput, options: RequestOptions = {}): Promise<Created<Account>> {
    return openAccount(this.reading, acting(scope), input, options, this.accountCodes?.newCode ?? newAccountCode);
  }

  changeAccount(scope: Scope, change: AccountChange): Promise<Account> {
    return changeAccount(this.reading, acting(scope), change);
  }

  getStatement(scope: Scope, query: StatementQuery): Promise<StatementPage> {
    return getStatement(this.reading, required(scope.workspaceId), query);
  }

  createQuote(scope: Scope, input: CreateQuoteInput, options: RequestOptions = {}): Promise<Created<Quote>> {
    const { rates = NO_RATES, validS = 300, openMax } = this.quoteTerms;
    return createQuote(this.reading, acting(scope), input, options, { rates, validS, openMax });
  }

  getQuote(scope: Scope, { quoteId }: { quoteId: QuoteId }): Promise<Quote> {
    return getQuote(this.reading, required(scope.workspaceId), quoteId);
  }

  listTransfers(scope: Scope, query: TransferQuery = {}): Promise<Page<Transfer>> {
    return listTransfers(this.reading, required(scope.workspaceId), query);
  }

  async fundAccount(scope: Scope, input: FundAccountInput, options: RequestOptions = {}): Promise<Created<Transfer>> {
    await requireSandbox(this.database);
    return fundAccount(this.books, this.reading, acting(scope), input, options);
  }

  async addTransactionEvent(
    scope: Scope,
    input: AddTransactionEventInput,
    options: RequestOptions = {},
  ): Promise<Created<Transaction>> {
    await requireSandbox(this.database);
    return addTransactionEvent(this.books, this.reading, acting(scope), input, options);
  }

  listEvents(scope: Scope, query: EventQuery = {}): Promise<EventPage> {
    return listEvents(this.reading, this.eventWaits, required(scope.workspaceId), query, scope.signal);
  }

  getEvent(scope: Scope, { eventId }: { eventId: EventId }): Promise<Event> {
    return getEvent(this.reading, required(scope.workspaceId), eventId);
  }

  async moveClock(scope: Scope, change: ClockChange): Promise<SandboxClock> {
    await requireSandbox(this.database);
    return moveClock(this.database, acting(scope), change);
  }
}

/** A missing part of the scope is a programming error of the caller. */
function required<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the scope lacks a workspace or an actor');
  return part;
}

const acting = ({ workspaceId, actor, signal }: Scope) => ({ workspaceId: required(workspaceId), actor, signal });
