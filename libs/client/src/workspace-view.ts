import type { Account, AccountChange, AccountId, AccountWish, BankingService, ClockChange, Created, FundingWish, Intent, InternalRecipientWish, InternationalRecipientWish, Order, OrderName, OrderQuery, OrderWish, Page, PageQuery, Quote, QuoteId, QuoteWish, Recipient, RecipientChange, RecipientId, RecipientQuery, SandboxClock, Scope, Statement, StatementQuery, Transaction, TransactionEventWish, Transfer, TransferId, TransferQuery } from '@banking/domain'; // prettier-ignore

/** The operations of one workspace. */
export interface WorkspaceView {
  /** As `BankingClient.getTransfer`, which checks the id when it runs. */
  getTransfer(transferId: number): Promise<Transfer>;
  /** One page; `next` of it is the `cursor` of the next. */
  listAccounts(query?: PageQuery): Promise<Page<Account>>;
  getAccount(accountId: number): Promise<Account>;
  openAccount(wish: AccountWish, intent?: Intent): Promise<Created<Account>>;
  changeAccount(change: AccountChange): Promise<Account>;
  /** Between two instants by booking, between two days by value date. */
  getStatement(query: StatementQuery): Promise<Statement>;
  /** One page; `next` of it is the `cursor` of the next. */
  listRecipients(query?: RecipientQuery): Promise<Page<Recipient>>;
  getRecipient(recipientId: number): Promise<Recipient>;
  addInternationalRecipient(wish: InternationalRecipientWish, intent?: Intent): Promise<Created<Recipient>>;
  addInternalRecipient(wish: InternalRecipientWish, intent?: Intent): Promise<Created<Recipient>>;
  changeRecipient(change: RecipientChange): Promise<Recipient>;
  forgetRecipient(recipientId: number): Promise<void>;
  /** An order is two payments when it is placed twice: give it a key. */
  placeOrder(wish: OrderWish, intent?: Intent): Promise<Created<Order>>;
  /** One page; `next` of it is the `cursor` of the next. */
  listOrders(query?: OrderQuery): Promise<Page<Order>>;
  getOrder(accountId: number, orderId: number): Promise<Order>;
  cancelOrder(accountId: number, orderId: number): Promise<Order>;
  createQuote(wish: QuoteWish, intent?: Intent): Promise<Created<Quote>>;
  getQuote(quoteId: number): Promise<Quote>;
  /** One page; `next` of it is the `cursor` of the next. */
  listTransfers(query?: TransferQuery): Promise<Page<Transfer>>;
  /** Only where the deployment has a sandbox. */
  fundAccount(wish: FundingWish, intent?: Intent): Promise<Created<Transfer>>;
  /** Likewise: what the network is to say of a payment abroad. */
  addTransactionEvent(wish: TransactionEventWish, intent?: Intent): Promise<Created<Transaction>>;
  /** Likewise: by which time orders run. */
  moveClock(change: ClockChange): Promise<SandboxClock>;
}

/** A view of whatever answers to the port. */
export function viewOf(service: BankingService, scope: Scope): WorkspaceView {
  return {
    getTransfer: (transferId) => service.getTransfer(scope, { transferId: transferId as TransferId }),
    listAccounts: (query) => service.listAccounts(scope, query),
    getAccount: (accountId) => service.getAccount(scope, { accountId: accountId as AccountId }),
    openAccount: (wish, intent) => service.openAccount(scope, wish, intent),
    changeAccount: (change) => service.changeAccount(scope, change),
    getStatement: (query) => service.getStatement(scope, query),
    listRecipients: (query) => service.listRecipients(scope, query),
    getRecipient: (recipientId) => service.getRecipient(scope, { recipientId: recipientId as RecipientId }),
    addInternationalRecipient: (wish, intent) => service.addInternationalRecipient(scope, wish, intent),
    addInternalRecipient: (wish, intent) => service.addInternalRecipient(scope, wish, intent),
    changeRecipient: (change) => service.changeRecipient(scope, change),
    forgetRecipient: (recipientId) => service.forgetRecipient(scope, { recipientId: recipientId as RecipientId }),
    placeOrder: (wish, intent) => service.placeOrder(scope, wish, intent),
    listOrders: (query) => service.listOrders(scope, query),
    getOrder: (accountId, orderId) => service.getOrder(scope, { accountId, orderId } as OrderName),
    cancelOrder: (accountId, orderId) => service.cancelOrder(scope, { accountId, orderId } as OrderName),
    createQuote: (wish, intent) => service.createQuote(scope, wish, intent),
    getQuote: (quoteId) => service.getQuote(scope, { quoteId: quoteId as QuoteId }),
    listTransfers: (query) => service.listTransfers(scope, query),
    fundAccount: (wish, intent) => service.fundAccount(scope, wish, intent),
    addTransactionEvent: (wish, intent) => service.addTransactionEvent(scope, wish, intent),
    moveClock: (change) => service.moveClock(scope, change),
  };
}
