import type {
  AccountId,
  AppId,
  DepositId,
  EventId,
  PlainNumber,
  QuoteId,
  RecipientId,
  TransactionId,
  TransferId,
} from './ids.js';
import type {
  AccountChange,
  AddInternalRecipientInput,
  AddInternationalRecipientInput,
  AddTransactionEventInput,
  ApprovalDecisionInput,
  ApprovalName,
  ApprovalQuery,
  ApprovalRulesChange,
  AuditQuery,
  ClockChange,
  CorridorQuery,
  PurposeQuery,
  CreateQuoteInput,
  CreateWebhookEndpointInput,
  DepositQuery,
  EventPage,
  EventQuery,
  FundAccountInput,
  LimitReplacement,
  InvitationAcceptance,
  InviteMemberInput,
  MemberChange,
  MemberName,
  OpenAccountInput,
  OrderName,
  OrderPage,
  OrderPageQuery,
  OrderQuery,
  PlaceOrderInput,
  RecipientChange,
  RecipientQuery,
  StatementQuery,
  TransferQuery,
  WebhookDeliveryName,
  WebhookDeliveryQuery,
  WebhookEndpointChange,
  WebhookEndpointName,
  WebhookReplay,
  WebhookReplayInput,
} from './inputs.js';
import type { Page, PageQuery } from './lists.js';
import type { Approval, ApprovalRules } from './resources/approval.js';
import type { RefusalReason } from './refusal-table.js';
import type {
  CreateServiceAccountInput,
  CreateServiceAccountKeyInput,
  ServiceAccountChange,
  ServiceAccountKeyName,
  ServiceAccountKeyQuery,
  ServiceAccountKeyRotation,
  ServiceAccountName,
} from './service-account-inputs.js';
import type { Account } from './resources/account.js';
import type { BankReconciliation } from './resources/bank-reconciliation.js';
import type { Deposit, ReceivingDetails } from './resources/deposit.js';
import type { AuditEvent, Event } from './resources/event.js';
import type { LimitList } from './resources/limit.js';
import type { InvitedMember, JoinedMember, Member, RemovedMember } from './resources/member.js';
import type { Order, Quote } from './resources/order.js';
import type { Recipient, RecipientSchema } from './resources/recipient.js';
import type { Corridor, Product } from './resources/reference.js';
import type { SandboxClock } from './resources/sandbox-clock.js';
import type { StatementPage } from './resources/statement.js';
import type { ServiceAccount, ServiceAccountKey, ServiceAccountKeyWithSecret } from './resources/service-account.js';
import type { PaymentAdvice } from './resources/payment-advice.js';
import type { Transaction, Transfer } from './resources/transaction.js';
import { type App, ROLE_NAMES, type RoleName, type User } from './resources/user.js';
import type { WebhookDelivery, WebhookEndpoint, WebhookEndpointWithSecret } from './resources/webhook.js';

/**
 * Who may call an operation. `subject`: every person with a valid token, also one who is no user yet, and no key. `user`: every user with a valid
 * token. Roles: every user with one of them in the workspace of the scope, which
 * the operation then belongs to. No role includes another.
 */
export type OperationAccess = 'subject' | 'user' | readonly RoleName[];

const READERS = ROLE_NAMES;

/** Of a list whose filters have indexes of their own. */
const OF_FILTERS = ['parameter_invalid', 'id_malformed', 'timestamp_invalid', 'filters_too_slow'] as const;
/** The role that places orders. A later run requires that the placer still has it, as the database does. */
export const PAYER = 'member' satisfies RoleName;
const PAYERS: readonly RoleName[] = [PAYER];
const ADMINISTRATORS: readonly RoleName[] = ['admin'];
const APPROVERS_AND_ADMINISTRATORS: readonly RoleName[] = ['approver', 'admin'];
const PAYERS_AND_ADMINISTRATORS: readonly RoleName[] = [...PAYERS, ...ADMINISTRATORS];

/**
 * What an operation returns: a record; all items of a list; one page of a list; one page of a list that can be followed; a record with a
 * page of one of its parts; a created record, at most one for an idempotency key; or nothing.
 */
export type OperationResult = 'record' | 'array' | 'page' | 'followed page' | 'paged record' | 'created' | 'nothing';

/** The results that are pages, with `limit` and `cursor`. */
export const PAGED_RESULTS: readonly OperationResult[] = ['page', 'followed page', 'paged record'];

interface Details {
  /** What it refuses beside what its access, its path, its page, its body and its idempotency key bring. */
  readonly refusals?: readonly RefusalReason[];
  /** The parameter of the path whose id the returned record has. */
  readonly returns?: string;
  /** Whether the input that stands neither in the path nor in the query is sent as the body. */
  readonly hasBody?: boolean;
  /** The members of the input that stand in the query of an operation with a body, or of one that reads a record. */
  readonly query?: readonly string[];
  /** The path of the same operation in the former revision of the interface. */
  readonly formerPath?: string;
  /** Whether the service acts after its response, whose status is 202. */
  readonly isDeferred?: boolean;
  /** Whether another deployment of the published interface may lack the operation. A 404 without a reason then means that it does. */
  readonly isOptional?: boolean;
}

/** An operation of the published interface. `Takes` is its input without the scope, and `Gives` is what it returns. */
export interface Operation<
  Takes extends object = object,
  Gives = unknown,
  Result extends OperationResult = OperationResult,
> extends Details {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The names in braces are members of the input. */
  readonly path: string;
  readonly access: OperationAccess;
  readonly result: Result;
  readonly refusals: readonly RefusalReason[];
  /** For the compiler only. */
  readonly types?: { readonly takes: Takes; readonly gives: Gives };
}

/** The names of the parameters of a path. */
export const parametersOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

type Of<T extends OperationResult> = <Takes extends object, Gives>(
  path: string,
  access: OperationAccess,
  details?: Details,
) => Operation<Takes, Gives, T>;

const operation =
  <T extends OperationResult>(method: Operation['method'], result: T, common: Details = {}): Of<T> =>
  (path, access, { refusals = [], ...details } = {}) => ({
    ...{ method, path, access, result, ...common, ...details },
    refusals: path.includes('Id}') ? ['id_malformed', ...refusals] : refusals,
  });

/** Reads one record, which the last parameter of the path identifies. */
const reads: Of<'record'> = (path, access, details) =>
  operation('GET', 'record')(path, access, { returns: parametersOf(path).at(-1)!, ...details });
const readsAll = operation('GET', 'array');
const readsPage = operation('GET', 'page');
const follows = operation('GET', 'followed page');
const readsPageOf = operation('GET', 'paged record');
const creates = operation('POST', 'created', { hasBody: true });
const changes: Of<'record'> = (path, access, details) =>
  operation('PATCH', 'record', { hasBody: true })(path, access, { returns: parametersOf(path).at(-1)!, ...details });
const replaces = operation('PUT', 'record', { hasBody: true });
const acts = operation('POST', 'record');
const deletes = operation('DELETE', 'nothing');
/** Ends a record, and returns what is left of it. */
const removes: Of<'record'> = (path, access, details) =>
  operation('DELETE', 'record')(path, access, { returns: parametersOf(path).at(-1)!, ...details });

/** Nothing but the scope. */
type Nothing = Readonly<Record<never, never>>;

/** The input of an operation that takes nothing but the scope: an object of options in its place does not compile. */
export type NoInput = Readonly<Record<string, never>>;

/** Of a quote and of an order: the amount, the account, the recipient and the corridor. */
const OF_PAYMENTS: readonly RefusalReason[] = [
  'account_not_found',
  'account_disabled',
  'recipient_invalid',
  'balance_limit_exceeded',
  'corridor_disabled',
  'payouts_unavailable',
  'amount_below_minimum',
  'amount_above_maximum',
];

/**
 * The published interface: one row for each operation. The port, the client, the routing to databases, the access check and the refusals
 * of the OpenAPI document are derived from it.
 *
 * Every operation may also refuse with `not_authenticated`, `rate_limited` or `unavailable`; then nothing was executed. One that writes may
 * refuse with `outcome_unknown`: it may have been executed. A record of another workspace is refused as one that does not exist.
 */
export const OPERATIONS = {
  /** All apps of the actor. */
  listApps: readsAll<Nothing, readonly App[]>('/apps', 'user'),
  /**
   * For an administrator of any workspace of the app, all users with all roles. For other actors, themselves and the users of shared
   * workspaces, with the shared roles only. An app that the actor does not belong to is not found.
   */
  listAppUsers: readsAll<{ readonly appId: AppId | PlainNumber }, readonly User[]>('/apps/{appId}/users', 'user', {
    refusals: ['app_not_found'],
  }),

  /** All products that accounts can be opened for. */
  listProducts: readsAll<Nothing, readonly Product[]>('/products', 'user'),
  /** The corridors to a country, an ISO 3166-1 code of two or three letters in any case. A country without corridors has none. */
  listCorridors: readsAll<{ readonly country: string }, readonly Corridor[]>(
    '/recipients/countries/{country}/corridors',
    'user',
    { refusals: ['country_unknown'], formerPath: '/countries/{country}/corridors' },
  ),
  /** The details that a corridor requires of a beneficiary, one schema for each form. A disabled corridor has its schemas too. */
  listRecipientSchemas: readsAll<CorridorQuery, readonly RecipientSchema[]>('/recipients/validation-schema', 'user', {
    refusals: ['parameter_invalid', 'corridor_not_found'],
    formerPath: '/validation-schema',
  }),

  /** The recipients of the workspace, newest first, without deleted ones. */
  listRecipients: readsPage<RecipientQuery, Page<Recipient>>('/recipients', READERS, {
    refusals: ['parameter_invalid'],
  }),
  /** A recipient. A deleted one is not found. */
  getRecipient: reads<{ readonly recipientId: RecipientId | PlainNumber }, Recipient>(
    '/recipients/{recipientId}',
    READERS,
    { refusals: ['recipient_not_found'] },
  ),
  /** Stores a recipient abroad, after its details are checked against the corridor. `recipient_invalid` names the invalid ones. */
  addInternationalRecipient: creates<AddInternationalRecipientInput, Recipient>('/recipients/international', PAYERS, {
    refusals: ['parameter_invalid', 'corridor_not_found', 'recipient_invalid'],
    query: ['countryCode', 'currencyCode', 'payoutMethod'],
  }),
  /**
   * Stores an account of this service as a recipient. Of an account in another workspace it reveals only that it exists:
   * `recipient_invalid` if no account has the code.
   */
  addInternalRecipient: creates<AddInternalRecipientInput, Recipient>('/recipients/internal', PAYERS, {
    refusals: ['recipient_invalid'],
  }),
  /**
   * Asks the payee's bank whether the account of a recipient belongs to its name, and stores the result at the recipient. `not_possible`
   * if there is no answer. `rate_limited` if the workspace has verified many recipients in the last hour.
   */
  verifyRecipient: creates<{ readonly recipientId: RecipientId | PlainNumber }, Recipient>(
    '/recipients/{recipientId}/verification',
    PAYERS,
    { refusals: ['recipient_not_found'], hasBody: false, isOptional: true },
  ),
  /** Changes the payer's own data of a recipient. Omitted fields stay. */
  changeRecipient: changes<RecipientChange, Recipient>('/recipients/{recipientId}', PAYERS, {
    refusals: ['recipient_not_found'],
  }),
  /** Deletes a recipient permanently. Past transfers keep theirs. A repeated one is not found. */
  deleteRecipient: deletes<{ readonly recipientId: RecipientId | PlainNumber }, void>(
    '/recipients/{recipientId}',
    PAYERS,
    { refusals: ['recipient_not_found'] },
  ),

  /** The accounts of the workspace, newest first. */
  listAccounts: readsPage<PageQuery, Page<Account>>('/accounts', READERS),
  getAccount: reads<{ readonly accountId: AccountId | PlainNumber }, Account>('/accounts/{accountId}', READERS, {
    refusals: ['account_not_found'],
  }),
  /** Opens an account with a balance of zero. */
  openAccount: creates<OpenAccountInput, Account>('/accounts', ADMINISTRATORS, { refusals: ['product_unavailable'] }),
  /** Changes the alias, or disables or enables the account. Omitted fields stay. The change is recorded with its user and time. */
  changeAccount: changes<AccountChange, Account>('/accounts/{accountId}', ADMINISTRATORS, {
    refusals: ['account_not_found'],
  }),
  /**
   * The movements of an account in a period, as of the instant of the first page. `timestamp_invalid` for a text that is neither an
   * instant nor a day, for one of each, and for a period that ends before it begins.
   */
  getStatement: readsPageOf<StatementQuery, StatementPage>('/accounts/{accountId}/statement', READERS, {
    refusals: ['timestamp_invalid', 'account_not_found'],
  }),

  /**
   * The price of a payment and the amount that arrives. A quote is binding until it expires, and valid for one order. It does not check
   * the balance of the account. `body_malformed` unless exactly one of `amount` and `targetAmount` is given, and exactly one of
   * `recipientID` and `targetCurrency`.
   */
  createQuote: creates<CreateQuoteInput, Quote>('/quotes', PAYERS, {
    refusals: ['amount_malformed', 'amount_out_of_range', 'currency_unknown', ...OF_PAYMENTS, 'rate_unavailable'],
  }),
  /** A quote, also an expired one. */
  getQuote: reads<{ readonly quoteId: QuoteId | PlainNumber }, Quote>('/quotes/{quoteId}', READERS, {
    refusals: ['quote_not_found'],
  }),

  /** The texts of the purpose codes of payments to a country, by code. */
  listPurposes: reads<PurposeQuery, Readonly<Record<string, string>>>('/orders/purposes', 'user', {
    query: ['countryCode'],
    refusals: ['parameter_invalid', 'country_unknown'],
  }),
  /** The orders of the workspace, newest first, each with the latest ten of its executions. A filter of another workspace is not found. */
  listOrders: readsPage<OrderQuery, Page<Order>>('/orders', READERS, {
    refusals: [...OF_FILTERS, 'account_not_found', 'recipient_not_found'],
  }),
  /**
   * Places an order that pays at once, later or repeatedly. An instant order has moved the money when the method returns. If it is
   * refused, nothing has changed.
   */
  placeOrder: creates<PlaceOrderInput, Order>('/accounts/{accountId}/orders', PAYERS, {
    refusals: [
      'amount_malformed',
      'amount_out_of_range',
      'timestamp_invalid',
      ...OF_PAYMENTS,
      'insufficient_funds',
      'limit_exceeded',
      'purpose_code_required',
      'purpose_code_invalid',
      'schedule_invalid',
      'quote_unusable',
      'quote_expired',
      'quote_used',
      'rate_unavailable',
      'external_reference_reused',
    ],
  }),
  /** An order of an account with a page of its executions, by sequence; the latest page first. */
  getOrder: readsPageOf<OrderName & PageQuery, OrderPage>('/accounts/{accountId}/orders/{orderId}', READERS, {
    refusals: ['order_not_found'],
    returns: 'orderId',
  }),
  /** The same for an order of any account of the workspace. */
  getOrderById: readsPageOf<Omit<OrderPageQuery, 'accountId'>, OrderPage>('/orders/{orderId}', READERS, {
    refusals: ['order_not_found'],
    returns: 'orderId',
    isOptional: true,
  }),
  /** Cancels the runs that are not executed yet. */
  cancelOrder: acts<OrderName, Order>(
    '/accounts/{accountId}/orders/{orderId}/cancellation',
    PAYERS_AND_ADMINISTRATORS,
    {
      refusals: ['order_not_found', 'order_not_cancellable'],
      returns: 'orderId',
    },
  ),
  /**
   * Resumes a paused order. Of the missed runs, one starts now. The order stays with the user who placed it while that user is a member,
   * and otherwise becomes an order of the user who resumes it. `role_insufficient` if neither is a member, and `approver_is_maker` if it waits
   * for approvals or the user has decided on it.
   */
  resumeOrder: acts<OrderName, Order>('/accounts/{accountId}/orders/{orderId}/resumption', ADMINISTRATORS, {
    refusals: ['order_not_found', 'order_not_paused', 'approver_is_maker'],
    returns: 'orderId',
  }),

  /** The transfers of the workspace's accounts, newest first. A filter of another workspace is not found. */
  listTransfers: readsPage<TransferQuery, Page<Transfer>>('/transfers', READERS, {
    refusals: [...OF_FILTERS, 'account_not_found', 'recipient_not_found'],
  }),
  getTransfer: reads<{ readonly transferId: TransferId | PlainNumber }, Transfer>('/transfers/{transferId}', READERS, {
    refusals: ['transfer_not_found'],
  }),
  /**
   * What finance needs of a payment: amounts, rate, fee, times and the reference at the banks. Of the transfer that left the account for a
   * recipient; other transfers have no advice.
   */
  getPaymentAdvice: reads<{ readonly transferId: TransferId | PlainNumber }, PaymentAdvice>(
    '/transfers/{transferId}/advice',
    READERS,
    { refusals: ['transfer_not_found', 'advice_not_found'], isOptional: true },
  ),
  /** A transaction with its transfers and its tracking. */
  getTransaction: reads<{ readonly transactionId: TransactionId | PlainNumber }, Transaction>(
    '/transactions/{transactionId}',
    READERS,
    { refusals: ['transaction_not_found'], isOptional: true },
  ),

  /** The deposits of the workspace's accounts, newest first. A filter of another workspace is not found. */
  listDeposits: readsPage<DepositQuery, Page<Deposit>>('/deposits', READERS, {
    refusals: ['parameter_invalid', 'id_malformed', 'timestamp_invalid', 'account_not_found'],
    isOptional: true,
  }),
  getDeposit: reads<{ readonly depositId: DepositId | PlainNumber }, Deposit>('/deposits/{depositId}', READERS, {
    refusals: ['deposit_not_found'],
    isOptional: true,
  }),
  /** What a payer writes so that money arrives on the account: one for each bank account of the service in its currency. */
  listReceivingDetails: readsAll<{ readonly accountId: AccountId | PlainNumber }, readonly ReceivingDetails[]>(
    '/accounts/{accountId}/receiving-details',
    READERS,
    { refusals: ['account_not_found'], isOptional: true },
  ),

  /** How the bank accounts of the service whose suspense account is in the workspace compare with the books, as a worker found last. */
  listReconciliations: readsAll<Nothing, readonly BankReconciliation[]>('/reconciliations', ADMINISTRATORS, {
    isOptional: true,
  }),

  /** The limits of the workspace, with what is used of them. */
  getLimits: reads<Nothing, LimitList>('/limits', READERS, { isOptional: true }),
  /**
   * Replaces all limits of the workspace. A list that is as requested already stays, so a repeated request has the response of the first.
   * `version_conflict` if the list was changed since the version of the request.
   */
  replaceLimits: replaces<LimitReplacement, LimitList>('/limits', ADMINISTRATORS, {
    refusals: ['payment_limit_invalid', 'version_conflict'],
    isOptional: true,
  }),

  /** Books an incoming amount, completed at once and without a fee. In a sandbox only. */
  fundAccount: creates<FundAccountInput, Transfer>(
    '/sandbox/accounts/{accountId}/fundings',
    PAYERS_AND_ADMINISTRATORS,
    {
      refusals: [
        'amount_malformed',
        'amount_out_of_range',
        'account_not_found',
        'account_disabled',
        'balance_limit_exceeded',
      ],
    },
  ),
  /**
   * Simulates a status of the network for an international payment. The status and its effects are stored before the method returns. A
   * repeated or late status has no effect. A transaction without a payout is not found. In a sandbox only.
   */
  addTransactionEvent: creates<AddTransactionEventInput, Transaction>(
    '/sandbox/transactions/{transactionId}/events',
    PAYERS_AND_ADMINISTRATORS,
    { refusals: ['transaction_not_found', 'balance_limit_exceeded'], returns: 'transactionId' },
  ),
  /**
   * Moves the clock that the orders of the workspace run by. Due runs start at once; of several missed runs, one. Everything else keeps the
   * real time. `clock_invalid` for a time before the current one, or over 100 years ahead. In a sandbox only.
   */
  moveClock: acts<ClockChange, SandboxClock>('/sandbox/clock', ADMINISTRATORS, {
    refusals: ['timestamp_invalid', 'clock_invalid'],
    hasBody: true,
  }),

  /**
   * The events of the workspace, oldest first. A reader who follows `next` misses none. With `wait`, a call that finds none waits for one;
   * an abort of `scope.signal` ends the wait early. `cursor_expired` if events behind the cursor were deleted because of their age.
   */
  listEvents: follows<EventQuery, EventPage>('/events', READERS, {
    refusals: ['parameter_invalid', 'id_malformed', 'timestamp_invalid', 'cursor_expired'],
    isOptional: true,
  }),
  getEvent: reads<{ readonly eventId: EventId | PlainNumber }, Event>('/events/{eventId}', READERS, {
    refusals: ['event_not_found'],
    isOptional: true,
  }),
  /** The audit trail of the workspace, newest first. An entry appears shortly after its change. */
  listAuditEvents: readsPage<AuditQuery, Page<AuditEvent>>('/audit-events', ADMINISTRATORS, {
    refusals: OF_FILTERS,
    isOptional: true,
  }),

  /** The rules in force. Version 0 without rules if the workspace never had any. */
  getApprovalRules: operation('GET', 'record')<Nothing, ApprovalRules>('/approval-rules', READERS, {
    isOptional: true,
  }),
  /**
   * Replaces all rules, with the approvals that the present ones require. `approval_changed` unless `version` is that of the present
   * rules; a repeated request is answered as done. `approval_impossible` for a rule that too few users could meet.
   */
  replaceApprovalRules: replaces<ApprovalRulesChange, ApprovalRules>('/approval-rules', ADMINISTRATORS, {
    refusals: ['account_not_found', 'approval_changed', 'approval_impossible'],
    isOptional: true,
  }),
  /** The requests that wait or waited for approvals, newest first. */
  listApprovals: readsPage<ApprovalQuery, Page<Approval>>('/approvals', READERS, {
    refusals: ['parameter_invalid'],
    isOptional: true,
  }),
  getApproval: reads<ApprovalName, Approval>('/approvals/{approvalId}', READERS, {
    refusals: ['approval_not_found'],
    isOptional: true,
  }),
  /**
   * Approves or rejects a request. The last approval that it requires makes it due, and the worker carries it out. A repeated decision is
   * answered as done. `approval_changed` unless `version` is that of the approval. `not_through_gateway` at a gateway.
   */
  decideApproval: acts<ApprovalDecisionInput, Approval>(
    '/approvals/{approvalId}/decision',
    APPROVERS_AND_ADMINISTRATORS,
    {
      refusals: [
        'not_through_gateway',
        'approval_not_found',
        'approver_is_maker',
        'approval_closed',
        'approval_expired',
        'approval_changed',
      ],
      returns: 'approvalId',
      hasBody: true,
      isOptional: true,
    },
  ),
  /** Withdraws a request, for its maker and for administrators; `role_insufficient` for others. An order that waits is cancelled. Not at a gateway. */
  withdrawApproval: acts<ApprovalName, Approval>('/approvals/{approvalId}/withdrawal', PAYERS_AND_ADMINISTRATORS, {
    refusals: ['not_through_gateway', 'role_insufficient', 'approval_not_found', 'approval_closed', 'approval_expired'],
    returns: 'approvalId',
    isOptional: true,
  }),

  /** The members of the workspace and its open invitations, newest first, without removed ones. */
  listMembers: readsPage<PageQuery, Page<Member>>('/members', ADMINISTRATORS, { isOptional: true }),
  /**
   * Gives a user of the service whose address is verified roles at once. Any other address is invited: the person who signs in with it, or
   * accepts the invitation with its code, becomes a member. Another invitation of the address replaces the former one. The result has the code, and the replay of a
   * request has none. `member_exists` for a user who is a member.
   * `invitation_limit` for a user with 200 open invitations in the workspace.
   */
  inviteMember: creates<InviteMemberInput, InvitedMember>('/members', ADMINISTRATORS, {
    refusals: ['member_exists', 'invitation_limit'],
    isOptional: true,
  }),
  /** A member, also a removed one. */
  getMember: reads<MemberName, Member>('/members/{memberId}', ADMINISTRATORS, {
    refusals: ['member_not_found'],
    isOptional: true,
  }),
  /**
   * Replaces the roles of a member or of an open invitation. Without `admin`, revokes the keys of service accounts that the
   * member has created, and withdraws the open invitations that the member has made.
   * `last_admin` if no administrator would be left.
   */
  changeMember: changes<MemberChange, Member>('/members/{memberId}', ADMINISTRATORS, {
    refusals: ['member_not_found', 'member_removed', 'last_admin'],
    isOptional: true,
  }),
  /**
   * Removes all roles of a member, or an invitation. Pauses the later orders that the member has placed, disables the webhook endpoints
   * that belong to the member, revokes the keys of service accounts that the member has created, and withdraws the open
   * invitations that the member has made. A repeated call returns the same. `last_admin` if no administrator would be left.
   */
  removeMember: removes<MemberName, RemovedMember>('/members/{memberId}', ADMINISTRATORS, {
    refusals: ['member_not_found', 'last_admin'],
    isOptional: true,
  }),
  /**
   * Accepts an invitation for the caller, who becomes a user of the service if need be. A code is valid for one user, who may repeat the
   * call, and for no one with another verified e-mail. `not_through_gateway` at a gateway, `role_insufficient` for a key.
   */
  acceptInvitation: acts<InvitationAcceptance, JoinedMember>('/invitations/acceptance', 'subject', {
    refusals: ['not_through_gateway', 'role_insufficient', 'invitation_not_found'],
    hasBody: true,
    isOptional: true,
  }),

  /** The webhook endpoints of the workspace, newest first. */
  listWebhookEndpoints: readsPage<PageQuery, Page<WebhookEndpoint>>('/webhook-endpoints', ADMINISTRATORS, {
    isOptional: true,
  }),
  /**
   * Creates an endpoint, which receives the events that are recorded from now on. The result has the secret, and the replay of a request
   * has none.
   */
  createWebhookEndpoint: creates<CreateWebhookEndpointInput, WebhookEndpointWithSecret>(
    '/webhook-endpoints',
    ADMINISTRATORS,
    {
      refusals: ['webhook_url_refused', 'webhook_endpoint_limit', 'webhooks_unavailable'],
      isOptional: true,
    },
  ),
  getWebhookEndpoint: reads<WebhookEndpointName, WebhookEndpoint>(
    '/webhook-endpoints/{webhookEndpointId}',
    ADMINISTRATORS,
    {
      refusals: ['webhook_endpoint_not_found'],
      isOptional: true,
    },
  ),
  /** Changes the address, types or description, or disables or enables the endpoint. Omitted fields stay. */
  changeWebhookEndpoint: changes<WebhookEndpointChange, WebhookEndpoint>(
    '/webhook-endpoints/{webhookEndpointId}',
    ADMINISTRATORS,
    {
      refusals: ['webhook_endpoint_not_found', 'webhook_url_refused', 'webhooks_unavailable'],
      isOptional: true,
    },
  ),
  /** Deletes the endpoint and its secret. Its pending deliveries end. */
  deleteWebhookEndpoint: deletes<WebhookEndpointName, void>('/webhook-endpoints/{webhookEndpointId}', ADMINISTRATORS, {
    refusals: ['webhook_endpoint_not_found'],
    isOptional: true,
  }),
  /** Makes a new secret. The former one signs too for 24 hours. */
  rotateWebhookSecret: acts<WebhookEndpointName, WebhookEndpointWithSecret>(
    '/webhook-endpoints/{webhookEndpointId}/secret-rotation',
    ADMINISTRATORS,
    {
      refusals: ['webhook_endpoint_not_found', 'webhooks_unavailable'],
      returns: 'webhookEndpointId',
      isOptional: true,
    },
  ),
  /** Sends a test of the type `webhook.test`, shortly after. */
  testWebhookEndpoint: acts<WebhookEndpointName, WebhookDelivery>(
    '/webhook-endpoints/{webhookEndpointId}/test',
    ADMINISTRATORS,
    {
      refusals: ['webhook_endpoint_not_found', 'webhook_endpoint_disabled', 'webhook_delivery_limit'],
      isDeferred: true,
      isOptional: true,
    },
  ),
  /**
   * Delivers the events of a period again that the endpoint has a type of. `webhook_replay_limit` for a period with more than 10,000 events
   * of all types; `webhook_delivery_limit` during another replay, or for too many pending or requested deliveries of the workspace.
   */
  replayWebhookEvents: acts<WebhookReplayInput, WebhookReplay>(
    '/webhook-endpoints/{webhookEndpointId}/replay',
    ADMINISTRATORS,
    {
      refusals: [
        'timestamp_invalid',
        'webhook_endpoint_not_found',
        'webhook_endpoint_disabled',
        'webhook_replay_limit',
        'webhook_delivery_limit',
      ],
      hasBody: true,
      isDeferred: true,
      isOptional: true,
    },
  ),
  /** The deliveries of an endpoint, newest first. */
  listWebhookDeliveries: readsPage<WebhookDeliveryQuery, Page<WebhookDelivery>>(
    '/webhook-endpoints/{webhookEndpointId}/deliveries',
    ADMINISTRATORS,
    { refusals: ['parameter_invalid', 'webhook_endpoint_not_found'], isOptional: true },
  ),
  /** Attempts a pending or failed delivery now. `event_not_found` if the event is not kept any more. */
  retryWebhookDelivery: acts<WebhookDeliveryName, WebhookDelivery>(
    '/webhook-endpoints/{webhookEndpointId}/deliveries/{webhookDeliveryId}/retry',
    ADMINISTRATORS,
    {
      refusals: [
        'webhook_endpoint_not_found',
        'webhook_delivery_not_found',
        'webhook_endpoint_disabled',
        'webhook_delivered',
        'webhook_delivery_limit',
        'event_not_found',
      ],
      returns: 'webhookDeliveryId',
      isDeferred: true,
      isOptional: true,
    },
  ),

  /** The service accounts of the workspace, newest first. */
  listServiceAccounts: readsPage<PageQuery, Page<ServiceAccount>>('/service-accounts', ADMINISTRATORS, {
    isOptional: true,
  }),
  /** Creates a service account without a key. */
  createServiceAccount: creates<CreateServiceAccountInput, ServiceAccount>('/service-accounts', ADMINISTRATORS, {
    refusals: ['service_account_limit'],
    isOptional: true,
  }),
  getServiceAccount: reads<ServiceAccountName, ServiceAccount>('/service-accounts/{serviceAccountId}', ADMINISTRATORS, {
    refusals: ['service_account_not_found'],
    isOptional: true,
  }),
  /** Changes the name, roles or scopes. Omitted fields stay. An account that loses its last role loses its keys. */
  changeServiceAccount: changes<ServiceAccountChange, ServiceAccount>(
    '/service-accounts/{serviceAccountId}',
    ADMINISTRATORS,
    { refusals: ['service_account_not_found'], isOptional: true },
  ),
  /** Deletes the service account and revokes its keys. Its standing orders pause. */
  deleteServiceAccount: deletes<ServiceAccountName, void>('/service-accounts/{serviceAccountId}', ADMINISTRATORS, {
    refusals: ['service_account_not_found'],
    isOptional: true,
  }),
  /** The keys of a service account that are not revoked, newest first, without their secrets. */
  listServiceAccountKeys: readsPage<ServiceAccountKeyQuery, Page<ServiceAccountKey>>(
    '/service-accounts/{serviceAccountId}/keys',
    ADMINISTRATORS,
    { refusals: ['service_account_not_found'], isOptional: true },
  ),
  /** Creates a key. The result has the secret, and the replay of a request has none. */
  createServiceAccountKey: creates<CreateServiceAccountKeyInput, ServiceAccountKeyWithSecret>(
    '/service-accounts/{serviceAccountId}/keys',
    ADMINISTRATORS,
    {
      refusals: [
        'timestamp_invalid',
        'service_account_not_found',
        'service_account_without_role',
        'key_limit',
        'network_invalid',
      ],
      isOptional: true,
    },
  ),
  getServiceAccountKey: reads<ServiceAccountKeyName, ServiceAccountKey>(
    '/service-accounts/{serviceAccountId}/keys/{keyId}',
    ADMINISTRATORS,
    { refusals: ['key_not_found'], isOptional: true },
  ),
  /** Revokes a key. Within a second, this process refuses it, and within five, every other one. */
  revokeServiceAccountKey: deletes<ServiceAccountKeyName, void>(
    '/service-accounts/{serviceAccountId}/keys/{keyId}',
    ADMINISTRATORS,
    { refusals: ['key_not_found'], isOptional: true },
  ),
  /** Creates a key with the networks of another one, which stays valid for the overlap. The replay of a request has no secret. */
  rotateServiceAccountKey: creates<ServiceAccountKeyRotation, ServiceAccountKeyWithSecret>(
    '/service-accounts/{serviceAccountId}/keys/{keyId}/rotation',
    ADMINISTRATORS,
    {
      refusals: ['timestamp_invalid', 'key_not_found', 'key_limit'],
      isOptional: true,
    },
  ),
};

export type OperationName = keyof typeof OPERATIONS;

/** What is made for each operation, by its name. */
export function eachOperation<T>(make: (name: OperationName) => T): Readonly<Record<OperationName, T>> {
  const names = Object.keys(OPERATIONS) as readonly OperationName[];
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<OperationName, T>;
}
