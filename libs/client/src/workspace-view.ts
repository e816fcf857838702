import type { Account, AccountChange, AccountId, AccountWish, ClockChange, Execution, FundingWish, InternalRecipientWish, InternationalRecipientWish, Movement, Order, OrderId, OrderName, OrderPage, OrderPageQuery, OrderQuery, OrderWish, Page, PageQuery, PlainNumber, Quote, QuoteId, QuoteWish, Recipient, RecipientChange, RecipientId, RecipientQuery, SandboxClock, Scope, StatementPage, StatementQuery, Transaction, TransactionEventWish, Transfer, TransferId, TransferQuery } from '@banking/domain'; // prettier-ignore
import type { BankingClient } from './banking-client.js';
import type { Made } from './calls.js';
import { walk } from './pages.js';
import type { CallOptions, CreationOptions } from './sending.js';

/** A list of one workspace, newest first. */
export interface Listing<T, Query> {
  /** Every item there is, page after page: `for await (const order of orders.list())`. */
  list(query?: Query, options?: CallOptions): AsyncGenerator<T, void, undefined>;
  /** One page; `next` of it is the `cursor` of the one behind it. */
  listPage(query?: Query, options?: CallOptions): Promise<Page<T>>;
}

/** The operations of one workspace. Ids may be plain numbers here, which are checked before they are sent. */
export interface WorkspaceView {
  readonly accounts: Listing<Account, PageQuery> & {
    get(accountId: AccountId | PlainNumber, options?: CallOptions): Promise<Account>;
    open(wish: AccountWish, options?: CreationOptions): Promise<Made<Account>>;
    /** Gives it another alias, or disables or enables it. What is left out stays. */
    change(
      accountId: AccountId | PlainNumber,
      change: Omit<AccountChange, 'accountId'>,
      options?: CallOptions,
    ): Promise<Account>;
    /** Between two instants by booking, between two days by value date. One page; `next` of it is the `cursor` of the one behind it. */
    statement(
      accountId: AccountId | PlainNumber,
      period: Omit<StatementQuery, 'accountId'>,
      options?: CallOptions,
    ): Promise<StatementPage>;
    /** Every movement of a statement, page after page. */
    movements(
      accountId: AccountId | PlainNumber,
      period: Omit<StatementQuery, 'accountId'>,
      options?: CallOptions,
    ): AsyncGenerator<Movement, void, undefined>;
  };
  readonly recipients: Listing<Recipient, RecipientQuery> & {
    get(recipientId: RecipientId | PlainNumber, options?: CallOptions): Promise<Recipient>;
    addInternational(wish: InternationalRecipientWish, options?: CreationOptions): Promise<Made<Recipient>>;
    addInternal(wish: InternalRecipientWish, options?: CreationOptions): Promise<Made<Recipient>>;
    change(
      recipientId: number,
      change: Omit<RecipientChange, 'recipientId'>,
      options?: CallOptions,
    ): Promise<Recipient>;
    forget(recipientId: RecipientId | PlainNumber, options?: CallOptions): Promise<void>;
  };
  readonly quotes: {
    create(wish: QuoteWish, options?: CreationOptions): Promise<Made<Quote>>;
    get(quoteId: QuoteId | PlainNumber, options?: CallOptions): Promise<Quote>;
  };
  readonly orders: Listing<Order, OrderQuery> & {
    /** Pays. One intent is one call of this, or several with the same key: two calls without a key are two payments. */
    place(wish: OrderWish, options?: CreationOptions): Promise<Made<Order>>;
    /** With the latest 100 of its executions. */
    get(accountId: AccountId | PlainNumber, orderId: number, options?: CallOptions): Promise<Order>;
    /** With one page of its executions; `next` of it is the `cursor` of those before. */
    getPage(
      accountId: AccountId | PlainNumber,
      orderId: OrderId | PlainNumber,
      query?: PageQuery,
      options?: CallOptions,
    ): Promise<OrderPage>;
    /** Every execution of an order from the latest to the first, page after page. */
    executions(
      accountId: AccountId | PlainNumber,
      orderId: OrderId | PlainNumber,
      query?: PageQuery,
      options?: CallOptions,
    ): AsyncGenerator<Execution, void, undefined>;
    cancel(accountId: AccountId | PlainNumber, orderId: OrderId | PlainNumber, options?: CallOptions): Promise<Order>;
    /** Lets a paused order run again. Only an administrator may; the order runs for that user from then on. */
    resume(accountId: AccountId | PlainNumber, orderId: OrderId | PlainNumber, options?: CallOptions): Promise<Order>;
  };
  readonly transfers: Listing<Transfer, TransferQuery> & {
    get(transferId: TransferId | PlainNumber, options?: CallOptions): Promise<Transfer>;
  };
  /** Only where the deployment has a sandbox. */
  readonly sandbox: {
    fund(wish: FundingWish, options?: CreationOptions): Promise<Made<Transfer>>;
    /** What the network is to say of a payment abroad. */
    addEvent(wish: TransactionEventWish, options?: CreationOptions): Promise<Made<Transaction>>;
    /** By which time orders run. */
    moveClock(change: ClockChange, options?: CallOptions): Promise<SandboxClock>;
  };
}

/** A list by how one page of it is asked for. */
function listing<T, Query extends PageQuery>(
  page: (query: Query | undefined, options?: CallOptions) => Promise<Page<T>>,
): Listing<T, Query> {
  return {
    listPage: page,
    list: (query, options) => walk((cursor) => page({ ...query, cursor } as Query, options), query?.cursor),
  };
}

/** Each part is made when it is asked for: a caller of a workspace wants one, and all of them cost as much as a call. */
export function viewOf(client: BankingClient, scope: Scope): WorkspaceView {
  return {
    get accounts(): WorkspaceView['accounts'] {
      const statement: WorkspaceView['accounts']['statement'] = (id, period, options) =>
        client.getStatement(scope, { ...period, accountId: id as AccountId }, options);
      return {
        ...listing<Account, PageQuery>((query, options) => client.listAccounts(scope, query, options)),
        get: (id, options) => client.getAccount(scope, { accountId: id as AccountId }, options),
        open: (wish, options) => client.openAccount(scope, wish, options),
        change: (id, change, options) =>
          client.changeAccount(scope, { ...change, accountId: id as AccountId }, options),
        statement,
        movements: (id, period, options) =>
          walk(async (cursor) => {
            const { movements: items, next } = await statement(id, { ...period, cursor }, options);
            return { items, ...(next !== undefined && { next }) };
          }, period.cursor),
      };
    },
    get recipients(): WorkspaceView['recipients'] {
      return {
        ...listing<Recipient, RecipientQuery>((query, options) => client.listRecipients(scope, query, options)),
        get: (id, options) => client.getRecipient(scope, { recipientId: id as RecipientId }, options),
        addInternational: (wish, options) => client.addInternationalRecipient(scope, wish, options),
        addInternal: (wish, options) => client.addInternalRecipient(scope, wish, options),
        change: (id, change, options) =>
          client.changeRecipient(scope, { ...change, recipientId: id as RecipientId }, options),
        forget: (id, options) => client.forgetRecipient(scope, { recipientId: id as RecipientId }, options),
      };
    },
    get quotes(): WorkspaceView['quotes'] {
      return {
        create: (wish, options) => client.createQuote(scope, wish, options),
        get: (id, options) => client.getQuote(scope, { quoteId: id as QuoteId }, options),
      };
    },
    get orders(): WorkspaceView['orders'] {
      const getPage: WorkspaceView['orders']['getPage'] = (accountId, orderId, query, options) =>
        client.getOrderPage(scope, { ...query, accountId, orderId } as OrderPageQuery, options);
      return {
        ...listing<Order, OrderQuery>((query, options) => client.listOrders(scope, query, options)),
        place: (wish, options) => client.placeOrder(scope, wish, options),
        get: (accountId, orderId, options) => client.getOrder(scope, { accountId, orderId } as OrderName, options),
        getPage,
        executions: (accountId, orderId, query, options) =>
          walk(async (cursor) => {
            const { order, next } = await getPage(accountId, orderId, { ...query, cursor }, options);
            return { items: [...(order.edges.executions ?? [])].reverse(), ...(next !== undefined && { next }) };
          }, query?.cursor),
        cancel: (accountId, orderId, options) =>
          client.cancelOrder(scope, { accountId, orderId } as OrderName, options),
        resume: (accountId, orderId, options) =>
          client.resumeOrder(scope, { accountId, orderId } as OrderName, options),
      };
    },
    get transfers(): WorkspaceView['transfers'] {
      return {
        ...listing<Transfer, TransferQuery>((query, options) => client.listTransfers(scope, query, options)),
        get: (id, options) => client.getTransfer(scope, { transferId: id as TransferId }, options),
      };
    },
    get sandbox(): WorkspaceView['sandbox'] {
      return {
        fund: (wish, options) => client.fundAccount(scope, wish, options),
        addEvent: (wish, options) => client.addTransactionEvent(scope, wish, options),
        moveClock: (change, options) => client.moveClock(scope, change, options),
      };
    },
  };
}
