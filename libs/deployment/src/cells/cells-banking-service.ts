import * as port from '@banking/domain';
import { BankingService, type Scope } from '@banking/domain';
import { callCell } from './call-cell.js';
import type { HomeOrCopies } from './cells-directory.js';
import type { Places } from './places.js';

/** The webhook operations of the port on several databases: each call goes to the cell of its workspace. */
abstract class CellsWebhookService extends BankingService {
  protected abstract inCell<T>(scope: Scope, call: (banking: BankingService) => Promise<T>): Promise<T>;

  createWebhookEndpoint(
    scope: Scope,
    input: port.CreateWebhookEndpointInput,
    options?: port.RequestOptions,
  ): Promise<port.Created<port.WebhookEndpointWithSecret>> {
    return this.inCell(scope, (banking) => banking.createWebhookEndpoint(scope, input, options));
  }
  listWebhookEndpoints(scope: Scope, query?: port.PageQuery): Promise<port.Page<port.WebhookEndpoint>> {
    return this.inCell(scope, (banking) => banking.listWebhookEndpoints(scope, query));
  }
  getWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookEndpoint> {
    return this.inCell(scope, (banking) => banking.getWebhookEndpoint(scope, query));
  }
  changeWebhookEndpoint(scope: Scope, change: port.WebhookEndpointChange): Promise<port.WebhookEndpoint> {
    return this.inCell(scope, (banking) => banking.changeWebhookEndpoint(scope, change));
  }
  deleteWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<void> {
    return this.inCell(scope, (banking) => banking.deleteWebhookEndpoint(scope, query));
  }
  rotateWebhookSecret(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookEndpointWithSecret> {
    return this.inCell(scope, (banking) => banking.rotateWebhookSecret(scope, query));
  }
  testWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookDelivery> {
    return this.inCell(scope, (banking) => banking.testWebhookEndpoint(scope, query));
  }
  replayWebhookEvents(scope: Scope, input: port.WebhookReplayInput): Promise<port.WebhookReplay> {
    return this.inCell(scope, (banking) => banking.replayWebhookEvents(scope, input));
  }
  listWebhookDeliveries(scope: Scope, query: port.WebhookDeliveryQuery): Promise<port.Page<port.WebhookDelivery>> {
    return this.inCell(scope, (banking) => banking.listWebhookDeliveries(scope, query));
  }
  retryWebhookDelivery(scope: Scope, query: port.WebhookDeliveryName): Promise<port.WebhookDelivery> {
    return this.inCell(scope, (banking) => banking.retryWebhookDelivery(scope, query));
  }
}

type Options = port.RequestOptions;
type Made<T> = Promise<port.Created<T>>;

/** The implementation of the port on several databases: each call goes to the cell of its workspace, other calls go to home. */
export class CellsBankingService extends CellsWebhookService {
  /** @param bankingOf the implementation on the database of a cell, by its number; throws `unavailable` while it is away */
  constructor(
    private readonly home: HomeOrCopies<BankingService>,
    private readonly bankingOf: (cellNumber: number) => BankingService,
    private readonly places: Places,
  ) {
    super();
  }

  listApps(scope: Scope): Promise<readonly port.App[]> {
    return this.home.read((banking) => banking.listApps(scope));
  }
  listAppUsers(scope: Scope, query: { readonly appId: port.AppId }): Promise<readonly port.User[]> {
    return this.home.read((banking) => banking.listAppUsers(scope, query));
  }
  listProducts(scope: Scope): Promise<readonly port.Product[]> {
    return this.home.read((banking) => banking.listProducts(scope));
  }
  listCorridors(scope: Scope, query: { readonly country: string }): Promise<readonly port.Corridor[]> {
    return this.home.read((banking) => banking.listCorridors(scope, query));
  }
  listRecipientSchemas(scope: Scope, query: port.CorridorQuery): Promise<readonly port.RecipientSchema[]> {
    return this.home.read((banking) => banking.listRecipientSchemas(scope, query));
  }
  listPurposes(scope: Scope): Promise<Readonly<Record<string, string>>> {
    return this.home.read((banking) => banking.listPurposes(scope));
  }

  listRecipients(scope: Scope, query?: port.RecipientQuery): Promise<port.Page<port.Recipient>> {
    return this.inCell(scope, (banking) => banking.listRecipients(scope, query));
  }
  getRecipient(scope: Scope, query: { readonly recipientId: port.RecipientId }): Promise<port.Recipient> {
    return this.inCell(scope, (banking) => banking.getRecipient(scope, query));
  }
  addInternationalRecipient(
    scope: Scope,
    input: port.AddInternationalRecipientInput,
    options?: Options,
  ): Made<port.Recipient> {
    return this.inCell(scope, (banking) => banking.addInternationalRecipient(scope, input, options));
  }
  addInternalRecipient(scope: Scope, input: port.AddInternalRecipientInput, options?: Options): Made<port.Recipient> {
    return this.inCell(scope, (banking) => banking.addInternalRecipient(scope, input, options));
  }
  changeRecipient(scope: Scope, change: port.RecipientChange): Promise<port.Recipient> {
    return this.inCell(scope, (banking) => banking.changeRecipient(scope, change));
  }
  deleteRecipient(scope: Scope, query: { readonly recipientId: port.RecipientId }): Promise<void> {
    return this.inCell(scope, (banking) => banking.deleteRecipient(scope, query));
  }
  getTransaction(scope: Scope, query: { readonly transactionId: port.TransactionId }): Promise<port.Transaction> {
    return this.inCell(scope, (banking) => banking.getTransaction(scope, query));
  }
  getTransfer(scope: Scope, query: { readonly transferId: port.TransferId }): Promise<port.Transfer> {
    return this.inCell(scope, (banking) => banking.getTransfer(scope, query));
  }
  listTransfers(scope: Scope, query?: port.TransferQuery): Promise<port.Page<port.Transfer>> {
    return this.inCell(scope, (banking) => banking.listTransfers(scope, query));
  }
  placeOrder(scope: Scope, input: port.PlaceOrderInput, options?: Options): Made<port.Order> {
    return this.inCell(scope, (banking) => banking.placeOrder(scope, input, options));
  }
  listOrders(scope: Scope, query?: port.OrderQuery): Promise<port.Page<port.Order>> {
    return this.inCell(scope, (banking) => banking.listOrders(scope, query));
  }
  getOrderPage(scope: Scope, query: port.OrderPageQuery): Promise<port.OrderPage> {
    return this.inCell(scope, (banking) => banking.getOrderPage(scope, query));
  }
  cancelOrder(scope: Scope, name: port.OrderName): Promise<port.Order> {
    return this.inCell(scope, (banking) => banking.cancelOrder(scope, name));
  }
  resumeOrder(scope: Scope, name: port.OrderName): Promise<port.Order> {
    return this.inCell(scope, (banking) => banking.resumeOrder(scope, name));
  }
  listAuditEvents(scope: Scope, query?: port.AuditQuery): Promise<port.Page<port.AuditEvent>> {
    return this.inCell(scope, (banking) => banking.listAuditEvents(scope, query));
  }
  listAccounts(scope: Scope, query?: port.PageQuery): Promise<port.Page<port.Account>> {
    return this.inCell(scope, (banking) => banking.listAccounts(scope, query));
  }
  getAccount(scope: Scope, query: { readonly accountId: port.AccountId }): Promise<port.Account> {
    return this.inCell(scope, (banking) => banking.getAccount(scope, query));
  }
  openAccount(scope: Scope, input: port.OpenAccountInput, options?: Options): Made<port.Account> {
    return this.inCell(scope, (banking) => banking.openAccount(scope, input, options));
  }
  changeAccount(scope: Scope, change: port.AccountChange): Promise<port.Account> {
    return this.inCell(scope, (banking) => banking.changeAccount(scope, change));
  }
  getStatement(scope: Scope, query: port.StatementQuery): Promise<port.StatementPage> {
    return this.inCell(scope, (banking) => banking.getStatement(scope, query));
  }
  createQuote(scope: Scope, input: port.CreateQuoteInput, options?: Options): Made<port.Quote> {
    return this.inCell(scope, (banking) => banking.createQuote(scope, input, options));
  }
  getQuote(scope: Scope, query: { readonly quoteId: port.QuoteId }): Promise<port.Quote> {
    return this.inCell(scope, (banking) => banking.getQuote(scope, query));
  }
  fundAccount(scope: Scope, input: port.FundAccountInput, options?: Options): Made<port.Transfer> {
    return this.inCell(scope, (banking) => banking.fundAccount(scope, input, options));
  }
  addTransactionEvent(scope: Scope, input: port.AddTransactionEventInput, options?: Options): Made<port.Transaction> {
    return this.inCell(scope, (banking) => banking.addTransactionEvent(scope, input, options));
  }
  listEvents(scope: Scope, query?: port.EventQuery): Promise<port.EventPage> {
    return this.inCell(scope, (banking) => banking.listEvents(scope, query));
  }
  getEvent(scope: Scope, query: { readonly eventId: port.EventId }): Promise<port.Event> {
    return this.inCell(scope, (banking) => banking.getEvent(scope, query));
  }
  moveClock(scope: Scope, change: port.ClockChange): Promise<port.SandboxClock> {
    return this.inCell(scope, (banking) => banking.moveClock(scope, change));
  }

  protected async inCell<T>({ workspaceId }: Scope, call: (banking: BankingService) => Promise<T>): Promise<T> {
    if (workspaceId === undefined) throw new Error('the scope lacks a workspace');
    return callCell(this.places, workspaceId, async (cellNumber) => call(this.bankingOf(cellNumber)));
  }
}
