import type {
  App,
  AppId,
  Corridor,
  CorridorQuery,
  PlainNumber,
  Product,
  RecipientSchema,
  User,
  Account,
  AccountChange,
  AccountId,
  Approval,
  ApprovalDecisionInput,
  ApprovalId,
  ApprovalQuery,
  ApprovalRules,
  ApprovalRulesChange,
  AuditEvent,
  AuditQuery,
  BankReconciliation,
  OpenAccountInput,
  ClockChange,
  Deposit,
  DepositId,
  DepositQuery,
  Execution,
  InvitationAcceptance,
  InvitedMember,
  InviteMemberInput,
  JoinedMember,
  Member,
  MemberChange,
  MemberId,
  RemovedMember,
  FundAccountInput,
  LimitList,
  LimitReplacement,
  AddInternalRecipientInput,
  AddInternationalRecipientInput,
  Movement,
  Order,
  OrderId,
  OrderPage,
  OrderQuery,
  PlaceOrderInput,
  Page,
  PageQuery,
  Quote,
  QuoteId,
  CreateQuoteInput,
  Recipient,
  RecipientChange,
  RecipientId,
  RecipientQuery,
  SandboxClock,
  Scope,
  StatementPage,
  StatementQuery,
  Transaction,
  TransactionId,
  AddTransactionEventInput,
  Transfer,
  TransferId,
  TransferQuery,
  PaymentAdvice,
  PurposeQuery,
  ReceivingDetails,
} from '@banking/domain';
import type { CreationResult, RemoteBankingService } from './remote-banking-service.js';
import type { CallOptions, CreationOptions } from './transport.js';
import { type EventMethods, eventMethods } from './follow-events.js';
import { iteratePages } from './pages.js';
import { type ServiceAccountMethods, serviceAccountMethods } from './service-account-methods.js';
import { type WebhookMethods, webhookMethods } from './webhook-methods.js';
import { type NamedOrder, type OrderWaitOptions, waitForOrder } from './wait-for-order.js';

/** The apps of the caller. */
export interface AppMethods {
  list(options?: CallOptions): Promise<readonly App[]>;
  /** The users of an app with their roles; all of them for an administrator of every workspace of the app. */
  users(appId: AppId | PlainNumber, options?: CallOptions): Promise<readonly User[]>;
}

/** The products that accounts can be opened for. */
export interface ProductMethods {
  list(options?: CallOptions): Promise<readonly Product[]>;
}

/** The corridors that international recipients are paid over. */
export interface CorridorMethods {
  /** The corridors to a country, an ISO 3166-1 code of two or three letters: `corridors.list('DE')`. */
  list(country: string, options?: CallOptions): Promise<readonly Corridor[]>;
}

/** The details that corridors require of a beneficiary, as JSON Schemas for a form. */
export interface RecipientSchemaMethods {
  /** The schemas of a corridor: `recipientSchemas.list({ countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' })`. */
  list(query: CorridorQuery, options?: CallOptions): Promise<readonly RecipientSchema[]>;
}

/** The purposes of a payment. */
export interface PurposeMethods {
  /** The texts of the purpose codes of payments to a country, by code: `purposes.list({ countryCode: 'IN' })`. */
  list(query?: PurposeQuery, options?: CallOptions): Promise<Readonly<Record<string, string>>>;
}

/** Invitations to workspaces. */
export interface InvitationMethods {
  /** Accepts an invitation by its code, which is valid for one person. */
  accept(acceptance: InvitationAcceptance, options?: CallOptions): Promise<JoinedMember>;
}

/** The operations that belong to no workspace. Their lists have no pages, so each is an array. */
export interface MethodsWithoutWorkspace {
  readonly apps: AppMethods;
  readonly products: ProductMethods;
  readonly corridors: CorridorMethods;
  readonly recipientSchemas: RecipientSchemaMethods;
  readonly purposes: PurposeMethods;
  readonly invitations: InvitationMethods;
}

export const methodsWithoutWorkspace = (service: RemoteBankingService): MethodsWithoutWorkspace => ({
  apps: {
    list: (options) => service.listApps({}, {}, options),
    users: (id, options) => service.listAppUsers({}, { appId: id }, options),
  },
  products: { list: (options) => service.listProducts({}, {}, options) },
  corridors: { list: (country, options) => service.listCorridors({}, { country }, options) },
  recipientSchemas: { list: (query, options) => service.listRecipientSchemas({}, query, options) },
  purposes: { list: (query = {}, options) => service.listPurposes({}, query, options) },
  invitations: { accept: (acceptance, options) => service.acceptInvitation({}, acceptance, options) },
});

/** The methods of a list of one workspace, newest first. */
export interface ListMethods<T, Query> {
  /** Iterates over all items: `for await (const order of orders.list())`. */
  list(query?: Query, options?: CallOptions): AsyncGenerator<T, void, undefined>;
  /** One page. Its `next` is the `cursor` of the following page. */
  listPage(query?: Query, options?: CallOptions): Promise<Page<T>>;
}

/** The operations of one workspace. Ids may be plain numbers, which are checked before they are sent. */
export interface WorkspaceView {
  readonly accounts: ListMethods<Account, PageQuery> & {
    get(accountId: AccountId | PlainNumber, options?: CallOptions): Promise<Account>;
    open(input: OpenAccountInput, options?: CreationOptions): Promise<CreationResult<Account>>;
    /** Changes the alias, or disables or enables the account. Omitted fields stay. */
    change(
      accountId: AccountId | PlainNumber,
      change: Omit<AccountChange, 'accountId'>,
      options?: CallOptions,
    ): Promise<Account>;
    /** One page of a statement: between two instants by booking time, or between two days by value date. */
    statement(
      accountId: AccountId | PlainNumber,
      period: Omit<StatementQuery, 'accountId'>,
      options?: CallOptions,
    ): Promise<StatementPage>;
    /** What a payer writes so that money arrives on the account: one for each bank account in its currency. */
    receivingDetails(accountId: AccountId | PlainNumber, options?: CallOptions): Promise<readonly ReceivingDetails[]>;
    /** Iterates over all movements of a statement. */
    movements(
      accountId: AccountId | PlainNumber,
      period: Omit<StatementQuery, 'accountId'>,
      options?: CallOptions,
    ): AsyncGenerator<Movement, void, undefined>;
  };
  readonly recipients: ListMethods<Recipient, RecipientQuery> & {
    get(recipientId: RecipientId | PlainNumber, options?: CallOptions): Promise<Recipient>;
    addInternational(
      input: AddInternationalRecipientInput,
      options?: CreationOptions,
    ): Promise<CreationResult<Recipient>>;
    addInternal(input: AddInternalRecipientInput, options?: CreationOptions): Promise<CreationResult<Recipient>>;
    /** Asks the payee's bank whose account it is. The result is `verification` of the recipient. */
    verify(recipientId: RecipientId | PlainNumber, options?: CreationOptions): Promise<CreationResult<Recipient>>;
    change(
      recipientId: RecipientId | PlainNumber,
      change: Omit<RecipientChange, 'recipientId'>,
      options?: CallOptions,
    ): Promise<Recipient>;
    delete(recipientId: RecipientId | PlainNumber, options?: CallOptions): Promise<void>;
  };
  readonly quotes: {
    create(input: CreateQuoteInput, options?: CreationOptions): Promise<CreationResult<Quote>>;
    get(quoteId: QuoteId | PlainNumber, options?: CallOptions): Promise<Quote>;
  };
  /** The audit trail, for administrators of the workspace. */
  readonly auditEvents: ListMethods<AuditEvent, AuditQuery>;
  readonly orders: ListMethods<Order, OrderQuery> & {
    /** Places an order, which pays. Two calls without a key are two payments. */
    place(input: PlaceOrderInput, options?: CreationOptions): Promise<CreationResult<Order>>;
    /** The order with its latest 100 executions. */
    get(accountId: AccountId | PlainNumber, orderId: OrderId | PlainNumber, options?: CallOptions): Promise<Order>;
    /** The same for an order of any account of the workspace, such as the order of an event. */
    getById(orderId: OrderId | PlainNumber, options?: CallOptions): Promise<Order>;
    /** The order with one page of its executions. `next` is the `cursor` of the earlier ones. */
    getPage(
      accountId: AccountId | PlainNumber,
      orderId: OrderId | PlainNumber,
      query?: PageQuery,
      options?: CallOptions,
    ): Promise<OrderPage>;
    /** Iterates over all executions of an order, latest first. */
    executions(
      accountId: AccountId | PlainNumber,
      orderId: OrderId | PlainNumber,
      query?: PageQuery,
      options?: CallOptions,
    ): AsyncGenerator<Execution, void, undefined>;
    cancel(accountId: AccountId | PlainNumber, orderId: OrderId | PlainNumber, options?: CallOptions): Promise<Order>;
    /** Waits until the order is settled, and returns it: `await orders.waitFor(order, { timeoutMs: 60_000 })`. */
    waitFor(order: NamedOrder, options?: OrderWaitOptions): Promise<Order>;
    /** Resumes a paused order, for administrators only: for the user who placed it, or for the administrator if that user is no member. */
    resume(accountId: AccountId | PlainNumber, orderId: OrderId | PlainNumber, options?: CallOptions): Promise<Order>;
  };
  readonly events: EventMethods;
  readonly transactions: {
    /** The transaction with its transfers and its tracking. */
    get(transactionId: TransactionId | PlainNumber, options?: CallOptions): Promise<Transaction>;
  };
  readonly transfers: ListMethods<Transfer, TransferQuery> & {
    get(transferId: TransferId | PlainNumber, options?: CallOptions): Promise<Transfer>;
    /** The amounts, rate, fee, times and UETR of a payment that left the account. */
    advice(transferId: TransferId | PlainNumber, options?: CallOptions): Promise<PaymentAdvice>;
  };
  /** Money that arrived at a bank account of the service. */
  readonly deposits: ListMethods<Deposit, DepositQuery> & {
    get(depositId: DepositId | PlainNumber, options?: CallOptions): Promise<Deposit>;
  };
  /** How bank accounts compare with the books, for administrators of the workspace of their suspense account. */
  readonly reconciliations: {
    list(options?: CallOptions): Promise<readonly BankReconciliation[]>;
  };
  /** What may be paid in an order, a day or a month. */
  readonly limits: {
    get(options?: CallOptions): Promise<LimitList>;
    /** Replaces all limits, for administrators. `version` is that of the list that was read. */
    replace(replacement: LimitReplacement, options?: CallOptions): Promise<LimitList>;
  };
  /** Requests that wait for approvals. An operation that needs them throws `ApprovalPending`; an order is placed and awaits them. */
  readonly approvals: ListMethods<Approval, ApprovalQuery> & {
    get(approvalId: ApprovalId | PlainNumber, options?: CallOptions): Promise<Approval>;
    /** Approves or rejects a request in the version that was read. */
    decide(
      approvalId: ApprovalId | PlainNumber,
      decision: Omit<ApprovalDecisionInput, 'approvalId'>,
      options?: CallOptions,
    ): Promise<Approval>;
    /** Withdraws a request, for its maker and for administrators. */
    withdraw(approvalId: ApprovalId | PlainNumber, options?: CallOptions): Promise<Approval>;
  };
  /** Which operations need approvals. */
  readonly approvalRules: {
    get(options?: CallOptions): Promise<ApprovalRules>;
    /** Replaces all rules, for administrators. The present ones may require approvals of it. */
    replace(change: ApprovalRulesChange, options?: CallOptions): Promise<ApprovalRules>;
  };
  /** The members, for administrators of the workspace. */
  readonly members: ListMethods<Member, PageQuery> & {
    /** Gives a user roles at once, or invites an address. The result has the code of the invitation, which is shown once. */
    invite(input: InviteMemberInput, options?: CreationOptions): Promise<CreationResult<InvitedMember>>;
    get(memberId: MemberId | PlainNumber, options?: CallOptions): Promise<Member>;
    /** Replaces the roles. */
    change(
      memberId: MemberId | PlainNumber,
      change: Omit<MemberChange, 'memberId'>,
      options?: CallOptions,
    ): Promise<Member>;
    /** Removes all roles, and stops what the member has made. */
    remove(memberId: MemberId | PlainNumber, options?: CallOptions): Promise<RemovedMember>;
  };
  /** The webhook endpoints, for administrators of the workspace. */
  readonly webhookEndpoints: WebhookMethods;
  /** Programs that call the service in the workspace, and their keys, for administrators. */
  readonly serviceAccounts: ServiceAccountMethods;
  /** Available in a sandbox only. */
  readonly sandbox: {
    fund(input: FundAccountInput, options?: CreationOptions): Promise<CreationResult<Transfer>>;
    /** Simulates a status of the network for an international payment. */
    addEvent(input: AddTransactionEventInput, options?: CreationOptions): Promise<CreationResult<Transaction>>;
    /** Moves the clock that scheduled orders run by. */
    moveClock(change: ClockChange, options?: CallOptions): Promise<SandboxClock>;
  };
}

async function withoutNext(page: Promise<OrderPage>): Promise<Order> {
  const { next: _, ...order } = await page;
  return order;
}

/** The methods of a list, from the request of one page. */
function listMethods<T, Query extends PageQuery>(
  page: (query: Query | undefined, options?: CallOptions) => Promise<Page<T>>,
): ListMethods<T, Query> {
  return {
    listPage: page,
    list: (query, options) => iteratePages((cursor) => page({ ...query, cursor } as Query, options), query?.cursor),
  };
}

/** Creates each group when it is read: most callers use one, and creating all costs as much as a call. */
export function viewOf(client: RemoteBankingService, scope: Scope): WorkspaceView {
  return {
    get accounts(): WorkspaceView['accounts'] {
      const statement: WorkspaceView['accounts']['statement'] = (id, period, options) =>
        client.getStatement(scope, { ...period, accountId: id }, options);
      return {
        ...listMethods<Account, PageQuery>((query, options) => client.listAccounts(scope, query, options)),
        get: (id, options) => client.getAccount(scope, { accountId: id }, options),
        open: (input, options) => client.openAccount(scope, input, options),
        change: (id, change, options) => client.changeAccount(scope, { ...change, accountId: id }, options),
        receivingDetails: (id, options) => client.listReceivingDetails(scope, { accountId: id }, options),
        statement,
        movements: (id, period, options) =>
          iteratePages(async (cursor) => {
            const { movements: items, next } = await statement(id, { ...period, cursor }, options);
            return { items, ...(next !== undefined && { next }) };
          }, period.cursor),
      };
    },
    get recipients(): WorkspaceView['recipients'] {
      return {
        ...listMethods<Recipient, RecipientQuery>((query, options) => client.listRecipients(scope, query, options)),
        get: (id, options) => client.getRecipient(scope, { recipientId: id }, options),
        addInternational: (input, options) => client.addInternationalRecipient(scope, input, options),
        addInternal: (input, options) => client.addInternalRecipient(scope, input, options),
        verify: (id, options) => client.verifyRecipient(scope, { recipientId: id }, options),
        change: (id, change, options) => client.changeRecipient(scope, { ...change, recipientId: id }, options),
        delete: (id, options) => client.deleteRecipient(scope, { recipientId: id }, options),
      };
    },
    get quotes(): WorkspaceView['quotes'] {
      return {
        create: (input, options) => client.createQuote(scope, input, options),
        get: (id, options) => client.getQuote(scope, { quoteId: id }, options),
      };
    },
    get auditEvents(): WorkspaceView['auditEvents'] {
      return listMethods<AuditEvent, AuditQuery>((query, options) => client.listAuditEvents(scope, query, options));
    },
    get orders(): WorkspaceView['orders'] {
      const getPage: WorkspaceView['orders']['getPage'] = (accountId, orderId, query, options) =>
        client.getOrder(scope, { ...query, accountId, orderId }, options);
      return {
        ...listMethods<Order, OrderQuery>((query, options) => client.listOrders(scope, query, options)),
        place: (input, options) => client.placeOrder(scope, input, options),
        get: (accountId, orderId, options) => withoutNext(getPage(accountId, orderId, {}, options)),
        getById: (orderId, options) => withoutNext(client.getOrderById(scope, { orderId }, options)),
        getPage,
        executions: (accountId, orderId, query, options) =>
          iteratePages(async (cursor) => {
            const { edges, next } = await getPage(accountId, orderId, { ...query, cursor }, options);
            return { items: [...(edges.executions ?? [])].reverse(), ...(next !== undefined && { next }) };
          }, query?.cursor),
        cancel: (accountId, orderId, options) => client.cancelOrder(scope, { accountId, orderId }, options),
        resume: (accountId, orderId, options) => client.resumeOrder(scope, { accountId, orderId }, options),
        waitFor: (order, options) =>
          waitForOrder(
            {
              getPage: (query, call) => client.getOrder(scope, query, call),
              listEvents: (query, call) => client.listEvents(scope, query, call),
            },
            order,
            options,
          ),
      };
    },
    get events(): WorkspaceView['events'] {
      return eventMethods(client, scope);
    },
    get transactions(): WorkspaceView['transactions'] {
      return {
        get: (id, options) => client.getTransaction(scope, { transactionId: id }, options),
      };
    },
    get transfers(): WorkspaceView['transfers'] {
      return {
        ...listMethods<Transfer, TransferQuery>((query, options) => client.listTransfers(scope, query, options)),
        get: (id, options) => client.getTransfer(scope, { transferId: id }, options),
        advice: (id, options) => client.getPaymentAdvice(scope, { transferId: id }, options),
      };
    },
    get deposits(): WorkspaceView['deposits'] {
      return {
        ...listMethods<Deposit, DepositQuery>((query, options) => client.listDeposits(scope, query, options)),
        get: (id, options) => client.getDeposit(scope, { depositId: id }, options),
      };
    },
    get reconciliations(): WorkspaceView['reconciliations'] {
      return { list: (options) => client.listReconciliations(scope, {}, options) };
    },
    get limits(): WorkspaceView['limits'] {
      return {
        get: (options) => client.getLimits(scope, {}, options),
        replace: (replacement, options) => client.replaceLimits(scope, replacement, options),
      };
    },
    get approvals(): WorkspaceView['approvals'] {
      return {
        ...listMethods<Approval, ApprovalQuery>((query, options) => client.listApprovals(scope, query, options)),
        get: (id, options) => client.getApproval(scope, { approvalId: id }, options),
        decide: (id, decision, options) => client.decideApproval(scope, { ...decision, approvalId: id }, options),
        withdraw: (id, options) => client.withdrawApproval(scope, { approvalId: id }, options),
      };
    },
    get approvalRules(): WorkspaceView['approvalRules'] {
      return {
        get: (options) => client.getApprovalRules(scope, {}, options),
        replace: (change, options) => client.replaceApprovalRules(scope, change, options),
      };
    },
    get members(): WorkspaceView['members'] {
      return {
        ...listMethods<Member, PageQuery>((query, options) => client.listMembers(scope, query, options)),
        invite: (input, options) => client.inviteMember(scope, input, options),
        get: (id, options) => client.getMember(scope, { memberId: id }, options),
        change: (id, change, options) => client.changeMember(scope, { ...change, memberId: id }, options),
        remove: (id, options) => client.removeMember(scope, { memberId: id }, options),
      };
    },
    get webhookEndpoints(): WorkspaceView['webhookEndpoints'] {
      return webhookMethods(client, scope);
    },
    get serviceAccounts(): WorkspaceView['serviceAccounts'] {
      return serviceAccountMethods(client, scope);
    },
    get sandbox(): WorkspaceView['sandbox'] {
      return {
        fund: (input, options) => client.fundAccount(scope, input, options),
        addEvent: (input, options) => client.addTransactionEvent(scope, input, options),
        moveClock: (change, options) => client.moveClock(scope, change, options),
      };
    },
  };
}
