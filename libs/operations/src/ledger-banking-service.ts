import {
  type AppId,
  type BankingOperations,
  BankingService,
  type PlainNumber,
  type RecipientChange,
  type Scope,
  type WorkspaceId,
} from '@banking/domain';
import { openBooks, type Books, booksAs, postSandboxDeposits } from '@banking/ledger';
import type { RailRouting, VerifyPayee } from '@banking/payouts';
import { type Database, WORKER_ROLE } from '@banking/postgres';
import {
  addInternalRecipient,
  addInternationalRecipient,
  changeRecipient,
  checkDetails,
  deleteRecipient,
  getRecipient,
  listRecipients,
} from './recipients/recipients.js';
import { verifyRecipient } from './recipients/verify-recipient.js';
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
import { acceptInvitation, getMember, listMembers } from './members/members.js';
import { changeMember, invitedEmail, inviteMember, removeMember } from './members/change-members.js';
import { createQuote, getQuote, type QuoteTerms } from './quotes/quotes.js';
import { EventWaits } from './events/event-waits.js';
import { getEvent, listEvents } from './events/events.js';
import { getOrderPage, listOrders } from './orders/read-orders.js';
import { getStatement } from './accounts/statements.js';
import type { ReceivingAccount } from './deposits/match-entry.js';
import { getDeposit, listDeposits, receivingDetails, listReconciliations } from './deposits/read-deposits.js';
import { getPaymentAdvice } from './transfers/advice.js';
import { getTransaction, getTransfer, listTransfers } from './transfers/transfers.js';
import { AppUsers, listApps } from './apps/directory.js';
import { inDirectoryOf } from './apps/in-directory.js';
import { listAuditEvents } from './audit/list-audit-events.js';
import { listCorridors, listProducts, listPurposes, listRecipientSchemas } from './corridors/corridors.js';
import { acting, required } from './audit/audited-call.js';
import { checkLimits, getLimits, replaceLimits } from './limits/limits.js';
import { checkRules, getApprovalRules, replaceApprovalRules } from './approvals/approval-rules.js';
import { getApproval, listApprovals } from './approvals/read-approvals.js';
import { decideApproval, withdrawApproval } from './approvals/decide-approval.js';
import { type InputChecks, withApprovals } from './approvals/approval-gate.js';
import type { Reading } from './resources/reading.js';
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
  checkUrl,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  getWebhookEndpoint,
  listWebhookEndpoints,
  rotateWebhookSecret,
  type WebhookTerms,
} from './webhooks/webhook-endpoints.js';
import {
  changeServiceAccount,
  createServiceAccount,
  deleteServiceAccount,
  getServiceAccount,
  listServiceAccounts,
} from './service-accounts/service-accounts.js';
import {
  checkKeyRotation,
  checkNewKey,
  createServiceAccountKey,
  getServiceAccountKey,
  listServiceAccountKeys,
  revokeServiceAccountKey,
  rotateServiceAccountKey,
} from './service-accounts/service-account-keys.js';
import type { InTurn } from '@banking/process';
import { NO_RATES, type RateSource } from '@banking/reference';

export interface PaymentServices extends HandOver, QuoteTerms {
  /** The source of rates. Without one, conversions are refused. */
  readonly rates?: RateSource;
  /** The payment networks of payouts. Default: none. Payouts that none serves are refused, and their corridors are not enabled. */
  readonly rails?: RailRouting;
  /** Asks the networks about payees. Without it, no verification is possible. */
  readonly verifyPayee?: VerifyPayee | undefined;
  /** Runs what waits for a lock, whose name is the key, before it takes a connection. Default: at once. */
  readonly inTurn?: InTurn;
  /** The bank accounts that payers pay to. Default: none. */
  readonly bankAccounts?: readonly ReceivingAccount[];
}

/** The implementation of the port on our own books. Each resource has a file of its name with its operations. */
export class LedgerBankingService extends BankingService {
  /** Batches the orders of this process. A worker in the same process uses it too. */
  readonly orders: OrderService;
  private readonly appUsers: AppUsers;
  private readonly parts: Parts;

  /**
   * @param books the open books of this database; they hold reserved ids
   * @param isSandbox whether orders run by the clocks of their workspaces, which can be moved
   * @param accountCodes of a deployment with several databases
   * @param webhookTerms of a deployment with a key for secrets
   * @param home the database of the directory, if it is another one
   */
  constructor(
    database: Database,
    books: Books = openBooks(database),
    services: PaymentServices = {},
    isSandbox = false,
    accountCodes?: AccountCodes,
    webhookTerms?: WebhookTerms,
    home?: Database,
  ) {
    const { rates = NO_RATES, rails, onPlaced, reservePayouts } = services;
    const orders = new OrderService(books, rates, { isSandbox, rails, onPlaced, reservePayouts });
    const appUsers = new AppUsers(database);
    const { reading } = orders;
    const parts = { database, books, reading, orders, appUsers, services, accountCodes, webhookTerms, home };
    const trials = operationsOf({ ...parts, reading: { ...reading, isOfTrials: true } });
    super(
      withApprovals(operationsOf(parts), trials, checksOf(parts), reading, (id) => carriedOut(parts, database, id)),
    );
    this.parts = parts;
    this.orders = orders;
    this.appUsers = appUsers;
  }

  /** The operations of an approved request, which the worker carries out. No approval is asked for. */
  carryingOut(worker: Database, approvalId: number): BankingOperations {
    return carriedOut(this.parts, worker, approvalId);
  }

  /** `listAppUsers` as JSON, in parts that are read when they are asked for: objects of users, separated by commas. */
  appUserTexts({ actor }: Scope, { appId }: { appId: AppId | PlainNumber }): AsyncGenerator<string, void> {
    return this.appUsers.textsOf(required(actor), appId);
  }
}

interface Parts {
  readonly database: Database;
  readonly books: Books;
  readonly reading: Reading;
  readonly orders: OrderService;
  readonly appUsers: AppUsers;
  readonly services: PaymentServices;
  readonly accountCodes: AccountCodes | undefined;
  readonly webhookTerms: WebhookTerms | undefined;
  readonly home: Database | undefined;
}

const checksOf = ({ webhookTerms }: Parts): InputChecks => ({
  addInternationalRecipient: checkDetails,
  createWebhookEndpoint: (input) => checkUrl(webhookTerms, input),
  changeWebhookEndpoint: (change) => checkUrl(webhookTerms, change),
  inviteMember: invitedEmail,
  createServiceAccountKey: checkNewKey,
  rotateServiceAccountKey: checkKeyRotation,
  replaceLimits: checkLimits,
  replaceApprovalRules: checkRules,
});

/** The operations whose database transactions name an approval. */
function carriedOut(parts: Parts, of: Database, approvalId: number): BankingOperations {
  const database = of.carryingOut(approvalId);
  return operationsOf({ ...parts, database, reading: { ...parts.reading, database } });
}

function operationsOf({
  database,
  books,
  reading,
  orders,
  appUsers,
  services: { validS, openMax, bankAccounts = [], verifyPayee, inTurn = (_, work) => work() },
  accountCodes,
  webhookTerms,
  home,
}: Parts): BankingOperations {
  const { rates, rails } = orders;
  const eventWaits = new EventWaits(database);
  // What the sandbox simulates has the rights of the worker, which receives it elsewhere.
  const asWorker = booksAs(books, WORKER_ROLE);
  const readingAsWorker = { ...reading, database: asWorker.database };
  const inDirectory = inDirectoryOf(home);
  const newCode = accountCodes?.newCode ?? newAccountCode;
  const quotes = { rates, rails, validS, openMax };
  const lockOfRecipient = (scope: Scope, { recipientId }: Pick<RecipientChange, 'recipientId'>) =>
    `recipient ${workspaceOf(scope)}/${recipientId}`;
  const inSandbox = async <T>(call: () => Promise<T>) => {
    await requireSandbox(database);
    return call();
  };

  return {
    listApps: ({ actor }) => listApps(database, required(actor)),
    listAppUsers: ({ actor }, { appId }) => appUsers.list(required(actor), appId),

    listProducts: () => listProducts(reading.reference),
    listCorridors: (_, { country }) => listCorridors(reading, rails, country),
    listRecipientSchemas: (_, query) => listRecipientSchemas(database, rails, query),

    listRecipients: (scope, query = {}) => listRecipients(reading, workspaceOf(scope), query),
    getRecipient: (scope, { recipientId }) => getRecipient(reading, workspaceOf(scope), recipientId),
    addInternationalRecipient: (scope, input, options = {}) =>
      addInternationalRecipient(reading, rails, acting(scope), input, options),
    addInternalRecipient: (scope, input, options = {}) =>
      addInternalRecipient(reading, acting(scope), input, options, accountCodes?.currencyElsewhere),
    verifyRecipient: (scope, { recipientId }, options = {}) =>
      verifyRecipient(reading, { verifyPayee, inTurn }, acting(scope), recipientId, options),
    changeRecipient: (scope, change) =>
      inTurn(lockOfRecipient(scope, change), () => changeRecipient(reading, acting(scope), change)),
    deleteRecipient: (scope, name) =>
      inTurn(lockOfRecipient(scope, name), () => deleteRecipient(database, acting(scope), name.recipientId)),

    listAccounts: (scope, query = {}) => listAccounts(reading, workspaceOf(scope), query),
    getAccount: (scope, { accountId }) => getAccount(reading, workspaceOf(scope), accountId),
    openAccount: (scope, input, options = {}) => openAccount(reading, acting(scope), input, options, newCode),
    changeAccount: (scope, change) => changeAccount(reading, acting(scope), change),
    getStatement: (scope, query) => getStatement(reading, workspaceOf(scope), query),

    createQuote: (scope, input, options = {}) => createQuote(reading, acting(scope), input, options, quotes),
    getQuote: (scope, { quoteId }) => getQuote(reading, workspaceOf(scope), quoteId),

    listPurposes: (_, query) => listPurposes(reading.reference, query?.countryCode),
    listOrders: (scope, query = {}) => listOrders(reading, workspaceOf(scope), query),
    placeOrder: (scope, input, options = {}) => placeOrder(orders, acting(scope), input, options),
    getOrder: (scope, query) => getOrderPage(reading, workspaceOf(scope), query),
    getOrderById: (scope, query) => getOrderPage(reading, workspaceOf(scope), query),
    cancelOrder: (scope, name) => cancelOrder(reading, acting(scope), name),
    resumeOrder: (scope, name) => resumeOrder(reading, acting(scope), name),

    listTransfers: (scope, query = {}) => listTransfers(reading, workspaceOf(scope), query),
    getTransfer: (scope, { transferId }) => getTransfer(reading, workspaceOf(scope), transferId),
    getPaymentAdvice: (scope, { transferId }) => getPaymentAdvice(reading, workspaceOf(scope), transferId),
    getTransaction: (scope, { transactionId }) => getTransaction(reading, workspaceOf(scope), transactionId),

    listDeposits: (scope, query = {}) => listDeposits(reading, workspaceOf(scope), query),
    getDeposit: (scope, { depositId }) => getDeposit(reading, workspaceOf(scope), depositId),
    listReceivingDetails: (scope, { accountId }) =>
      receivingDetails(reading, workspaceOf(scope), accountId, bankAccounts),

    listReconciliations: (scope) => listReconciliations(reading, workspaceOf(scope)),

    getLimits: (scope) => getLimits(database, workspaceOf(scope)),
    replaceLimits: (scope, replacement) => replaceLimits(database, acting(scope), replacement, rates),

    fundAccount: (scope, input, options = {}) =>
      inSandbox(() => fundAccount(asWorker, readingAsWorker, acting(scope), input, options, postSandboxDeposits)),
    addTransactionEvent: (scope, input, options = {}) =>
      inSandbox(() => addTransactionEvent(asWorker, readingAsWorker, acting(scope), input, options)),
    moveClock: (scope, change) => inSandbox(() => moveClock(database, acting(scope), change)),

    listEvents: (scope, query = {}) => listEvents(reading, eventWaits, workspaceOf(scope), query, scope.signal),
    getEvent: (scope, { eventId }) => getEvent(reading, workspaceOf(scope), eventId),
    listAuditEvents: (scope, query = {}) => listAuditEvents(reading, workspaceOf(scope), query),

    getApprovalRules: (scope) => getApprovalRules(database, workspaceOf(scope)),
    replaceApprovalRules: (scope, change) => replaceApprovalRules(database, acting(scope), change),
    listApprovals: (scope, query = {}) => listApprovals(reading, workspaceOf(scope), query, scope.actor),
    getApproval: (scope, name) => getApproval(reading, workspaceOf(scope), name, scope.actor),
    decideApproval: (scope, input) => decideApproval(reading, acting(scope), input),
    withdrawApproval: (scope, name) => withdrawApproval(reading, acting(scope), name),

    listMembers: (scope, query = {}) => listMembers(reading, workspaceOf(scope), query),
    inviteMember: async (scope, input, options = {}) =>
      inviteMember(reading, acting(scope), input, options, inDirectory),
    getMember: (scope, name) => getMember(reading, workspaceOf(scope), name),
    changeMember: (scope, change) => changeMember(reading, acting(scope), change, inDirectory),
    removeMember: (scope, name) => removeMember(reading, acting(scope), name, inDirectory),
    acceptInvitation: async (scope, acceptance) =>
      acceptInvitation(home ?? database, scope, required(scope.subject), acceptance),

    listWebhookEndpoints: (scope, query = {}) => listWebhookEndpoints(reading, workspaceOf(scope), query),
    createWebhookEndpoint: async (scope, input, options = {}) =>
      createWebhookEndpoint(reading, acting(scope), input, options, webhookTerms),
    getWebhookEndpoint: (scope, query) => getWebhookEndpoint(reading, workspaceOf(scope), query),
    changeWebhookEndpoint: (scope, change) => changeWebhookEndpoint(reading, acting(scope), change, webhookTerms),
    deleteWebhookEndpoint: (scope, query) => deleteWebhookEndpoint(database, acting(scope), query),
    rotateWebhookSecret: (scope, query) => rotateWebhookSecret(reading, acting(scope), query, webhookTerms),
    testWebhookEndpoint: (scope, query) => testWebhookEndpoint(database, acting(scope), query),
    replayWebhookEvents: (scope, input) => replayWebhookEvents(database, acting(scope), input),
    listWebhookDeliveries: (scope, query) => listWebhookDeliveries(reading, workspaceOf(scope), query),
    retryWebhookDelivery: (scope, query) => retryWebhookDelivery(database, acting(scope), query),

    listServiceAccounts: (scope, query = {}) => listServiceAccounts(reading, workspaceOf(scope), query),
    createServiceAccount: (scope, input, options = {}) =>
      createServiceAccount(reading, acting(scope), input, options, inDirectory),
    getServiceAccount: (scope, query) => getServiceAccount(reading, workspaceOf(scope), query),
    changeServiceAccount: (scope, change) => changeServiceAccount(reading, acting(scope), change, inDirectory),
    deleteServiceAccount: (scope, query) => deleteServiceAccount(reading, acting(scope), query, inDirectory),
    listServiceAccountKeys: (scope, query) => listServiceAccountKeys(reading, workspaceOf(scope), query),
    createServiceAccountKey: (scope, input, options = {}) =>
      createServiceAccountKey(reading, acting(scope), input, options),
    getServiceAccountKey: (scope, query) => getServiceAccountKey(reading, workspaceOf(scope), query),
    revokeServiceAccountKey: (scope, query) => revokeServiceAccountKey(database, acting(scope), query),
    rotateServiceAccountKey: (scope, input, options = {}) =>
      rotateServiceAccountKey(reading, acting(scope), input, options),
  };
}

const workspaceOf = ({ workspaceId }: Scope): WorkspaceId => required(workspaceId);
