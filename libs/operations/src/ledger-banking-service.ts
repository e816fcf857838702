import { BankingService, type Order, type OrderName, type OrderPage, type OrderPageQuery, type OrderQuery, type OrderWish, type Account, type AccountChange, type AccountId, type AccountWish, type App, type AppId, type ClockChange, type Corridor, type CorridorQuery, type Created, type FundingWish, type Intent, type InternalRecipientWish, type InternationalRecipientWish, type Page, type PageQuery, type Product, type Quote, type QuoteId, type QuoteWish, type Recipient, type RecipientChange, type RecipientId, type RecipientQuery, type RecipientSchema, type SandboxClock, type Scope, type StatementPage, type StatementQuery, type Transaction, type TransactionEventWish, type Transfer, type TransferId, type TransferQuery, type User } from '@banking/domain'; // prettier-ignore
import { openBooks, type Books } from '@banking/ledger';
import type { Database } from '@banking/postgres';
import { addInternalRecipient } from './add-internal-recipient.js';
import { addInternationalRecipient } from './add-international-recipient.js';
import { addTransactionEvent } from './add-transaction-event.js';
import { cancelOrder } from './cancel-order.js';
import { changeAccount } from './change-account.js';
import { changeRecipient } from './change-recipient.js';
import { createQuote } from './create-quote.js';
import { requireSandbox } from './deployment-mode.js';
import { forgetRecipient } from './forget-recipient.js';
import { fundAccount } from './fund-account.js';
import { getAccount } from './get-account.js';
import { getQuote } from './get-quote.js';
import { getOrderPage } from './get-order.js';
import { getRecipient } from './get-recipient.js';
import { getStatement } from './get-statement.js';
import { getTransfer } from './get-transfer.js';
import { listAccounts } from './list-accounts.js';
import { moveClock } from './move-clock.js';
import { openAccount } from './open-account.js';
import { listAppUsers } from './list-app-users.js';
import { listApps } from './list-apps.js';
import { listCorridors } from './list-corridors.js';
import { listOrders } from './list-orders.js';
import { listProducts } from './list-products.js';
import { listPurposes } from './list-purposes.js';
import { listRecipientSchemas } from './list-recipient-schemas.js';
import { listRecipients } from './list-recipients.js';
import { listTransfers } from './list-transfers.js';
import { CursorSeal } from './lists/cursor-seal.js';
import { resumeOrder } from './resume-order.js';
import { OrderDesk } from './orders/order-desk.js';
import { NO_RATES, type RateSource } from './rates/rate-source.js';

export interface QuoteTerms {
  /** Where rates come from; without one, nothing is converted. */
  readonly rates?: RateSource;
  /** How long a quote holds, in seconds, at most a day. Default 300. */
  readonly validS?: number;
  /** How many quotes of a workspace may be open, neither used nor expired. Without it, any number. */
  readonly openMax?: number | undefined;
}

/** The port answered from our own books. A table of contents: each operation is a file of its name. */
export class LedgerBankingService extends BankingService {
  private readonly cursors: CursorSeal;
  /** Where its orders are placed: whoever runs them in the same process runs them there. */
  readonly orders: OrderDesk;

  /**
   * @param books of this database, where they are open already: they hold ids in reserve
   * @param isSandbox whether orders run by the clocks of their workspaces, which can be moved
   */
  constructor(
    private readonly database: Database,
    private readonly books: Books = openBooks(database),
    private readonly quoteTerms: QuoteTerms = {},
    isSandbox = false,
  ) {
    super();
    this.cursors = new CursorSeal(database);
    this.orders = new OrderDesk(books, quoteTerms.rates ?? NO_RATES, { isSandbox });
  }

  listApps(scope: Scope): Promise<readonly App[]> {
    return listApps(this.database, required(scope.actor));
  }

  listAppUsers(scope: Scope, { appId }: { appId: AppId }): Promise<readonly User[]> {
    return listAppUsers(this.database, required(scope.actor), appId);
  }

  listProducts(): Promise<readonly Product[]> {
    return listProducts(this.database);
  }

  listCorridors(_scope: Scope, { country }: { country: string }): Promise<readonly Corridor[]> {
    return listCorridors(this.database, country);
  }

  listRecipientSchemas(_scope: Scope, query: CorridorQuery): Promise<readonly RecipientSchema[]> {
    return listRecipientSchemas(this.database, query);
  }

  listRecipients(scope: Scope, query: RecipientQuery = {}): Promise<Page<Recipient>> {
    return listRecipients(this.database, this.cursors, required(scope.workspaceId), query);
  }

  getRecipient(scope: Scope, { recipientId }: { recipientId: RecipientId }): Promise<Recipient> {
    return getRecipient(this.database, required(scope.workspaceId), recipientId);
  }

  addInternationalRecipient(
    scope: Scope,
    wish: InternationalRecipientWish,
    intent: Intent = {},
  ): Promise<Created<Recipient>> {
    // prettier-ignore
    return addInternationalRecipient(this.database, acting(scope), wish, intent);
  }

  addInternalRecipient(scope: Scope, wish: InternalRecipientWish, intent: Intent = {}): Promise<Created<Recipient>> {
    return addInternalRecipient(this.database, acting(scope), wish, intent);
  }

  changeRecipient(scope: Scope, change: RecipientChange): Promise<Recipient> {
    return changeRecipient(this.database, acting(scope), change);
  }

  forgetRecipient(scope: Scope, { recipientId }: { recipientId: RecipientId }): Promise<void> {
    return forgetRecipient(this.database, acting(scope), recipientId);
  }

  async listPurposes(): Promise<Readonly<Record<string, string>>> {
    return listPurposes();
  }

  getTransfer(scope: Scope, { transferId }: { transferId: TransferId }): Promise<Transfer> {
    return getTransfer(this.database, required(scope.workspaceId), transferId);
  }

  placeOrder(scope: Scope, wish: OrderWish, intent: Intent = {}): Promise<Created<Order>> {
    return this.orders.place({ ...acting(scope), signal: scope.signal }, wish, intent);
  }

  listOrders(scope: Scope, query: OrderQuery = {}): Promise<Page<Order>> {
    return listOrders(this.database, this.cursors, required(scope.workspaceId), query);
  }

  getOrderPage(scope: Scope, query: OrderPageQuery): Promise<OrderPage> {
    return getOrderPage(this.database, this.cursors, required(scope.workspaceId), query);
  }

  cancelOrder(scope: Scope, name: OrderName): Promise<Order> {
    return cancelOrder(this.database, acting(scope), name);
  }

  resumeOrder(scope: Scope, name: OrderName): Promise<Order> {
    return resumeOrder(this.database, acting(scope), name);
  }

  listAccounts(scope: Scope, query: PageQuery = {}): Promise<Page<Account>> {
    return listAccounts(this.database, this.cursors, required(scope.workspaceId), query);
  }

  getAccount(scope: Scope, { accountId }: { accountId: AccountId }): Promise<Account> {
    return getAccount(this.database, required(scope.workspaceId), accountId);
  }

  openAccount(scope: Scope, wish: AccountWish, intent: Intent = {}): Promise<Created<Account>> {
    return openAccount(this.database, acting(scope), wish, intent);
  }

  changeAccount(scope: Scope, change: AccountChange): Promise<Account> {
    return changeAccount(this.database, acting(scope), change);
  }

  getStatement(scope: Scope, query: StatementQuery): Promise<StatementPage> {
    return getStatement(this.database, this.cursors, required(scope.workspaceId), query);
  }

  createQuote(scope: Scope, wish: QuoteWish, intent: Intent = {}): Promise<Created<Quote>> {
    const { rates = NO_RATES, validS = 300, openMax } = this.quoteTerms;
    return createQuote(this.database, acting(scope), wish, intent, { rates, validS, openMax });
  }

  getQuote(scope: Scope, { quoteId }: { quoteId: QuoteId }): Promise<Quote> {
    return getQuote(this.database, required(scope.workspaceId), quoteId);
  }

  listTransfers(scope: Scope, query: TransferQuery = {}): Promise<Page<Transfer>> {
    return listTransfers(this.database, this.cursors, required(scope.workspaceId), query);
  }

  async fundAccount(scope: Scope, wish: FundingWish, intent: Intent = {}): Promise<Created<Transfer>> {
    await requireSandbox(this.database);
    return fundAccount(this.books, acting(scope), wish, intent);
  }

  async addTransactionEvent(
    scope: Scope,
    wish: TransactionEventWish,
    intent: Intent = {},
  ): Promise<Created<Transaction>> {
    await requireSandbox(this.database);
    return addTransactionEvent(this.books, acting(scope), wish, intent);
  }

  async moveClock(scope: Scope, change: ClockChange): Promise<SandboxClock> {
    await requireSandbox(this.database);
    return moveClock(this.database, acting(scope), change);
  }
}

/** A scope without what the operation needs is a bug of whoever calls the port; nothing is read for it. */
function required<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the scope lacks what this operation needs');
  return part;
}

const acting = ({ workspaceId, actor, signal }: Scope) => ({ workspaceId: required(workspaceId), actor, signal });
