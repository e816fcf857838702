import type {
  AccountId,
  ApprovalId,
  MemberId,
  PlainNumber,
  ProductId,
  RecipientId,
  UserId,
  OrderId,
  QuoteId,
  TransactionId,
  WebhookDeliveryId,
  WebhookEndpointId,
} from './ids.js';
import type { PageQuery, Page, PagedRecord } from './lists.js';
import type { ApprovalRule } from './resources/approval.js';
import type { AccountStatus, ApprovalStatus, DepositStatus, TransactionStatus, OrderStatus } from './states.js';
import type { TransferDirection } from './resources/transaction.js';
import type { EventType, EventResourceType } from './event-types.js';
import type { Event } from './resources/event.js';
import type { LimitTerms } from './resources/limit.js';
import type { OrderStatements } from './order-statements.js';
import type { Order, OrderType, RepeatUnit } from './resources/order.js';
import type { BeneficiaryAccountType, PayoutMethod } from './resources/reference.js';
import type { RoleName } from './resources/user.js';
import type { BeneficiaryData } from './resources/recipient.js';
import type { WebhookDeliveryStatus } from './resources/webhook.js';

/** Input of `openAccount`. */
export interface OpenAccountInput {
  readonly productID: ProductId | PlainNumber;
  /** The owner's name of the account: 1 to 140 characters of free text (`isFreeText`). */
  readonly alias?: string | undefined;
}

/** Input of `changeAccount`. Omitted fields stay. */
export interface AccountChange {
  readonly accountId: AccountId | PlainNumber;
  readonly alias?: string | undefined;
  /** A disabled account pays nothing and accepts only returned money. */
  readonly status?: AccountStatus | undefined;
}

/** A period of an account: two instants (RFC 3339 with an offset) for booking time, or two days (`YYYY-MM-DD`) for value date. */
export interface StatementQuery extends PageQuery {
  readonly accountId: AccountId | PlainNumber;
  /** Inclusive. */
  readonly from: string;
  /** Exclusive, of the same kind, not before `from`. */
  readonly to: string;
}

/** Filters of the list of transfers. They are combined with AND. */
export interface TransferQuery extends PageQuery {
  readonly accountId?: AccountId | PlainNumber | undefined;
  readonly recipientId?: RecipientId | PlainNumber | undefined;
  readonly direction?: TransferDirection | undefined;
  readonly type?: string | undefined;
  /** The status of its transaction. */
  readonly transactionStatus?: TransactionStatus | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
}

/** Filters of the list of deposits. They are combined with AND. */
export interface DepositQuery extends PageQuery {
  readonly accountId?: AccountId | PlainNumber | undefined;
  readonly status?: DepositStatus | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
}

/** How long an invitation can be accepted, in days. */
export const INVITATION_DAYS = 7;

/** Input of `inviteMember`. */
export interface InviteMemberInput {
  /** In ASCII (`foldEmail`). */
  readonly email: string;
  /** At least one, and each once. */
  readonly roles: readonly RoleName[];
}

/** Names a member of the workspace. */
export interface MemberName {
  readonly memberId: MemberId | PlainNumber;
}

/** Input of `changeMember`. */
export interface MemberChange extends MemberName {
  /** All roles of the member from now on: at least one, and each once. */
  readonly roles: readonly RoleName[];
}

/** Input of `acceptInvitation`. */
export interface InvitationAcceptance {
  /** The code that `inviteMember` has returned. */
  readonly code: string;
}

/** The longest time that a request for events is held, in seconds. */
export const EVENT_WAIT_MAX_S = 20;

/** Filters of the list of events. They are combined with AND. */
export interface EventQuery extends PageQuery {
  /** Events of any of these types. */
  readonly type?: readonly EventType[] | undefined;
  readonly resourceType?: EventResourceType | undefined;
  /** Together with `resourceType`, because resources of two types may have the same id. */
  readonly resourceId?: number | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
  /** How long a request that finds no event is held: whole seconds from 0 to {@link EVENT_WAIT_MAX_S}. 0 if it is omitted. */
  readonly wait?: number | undefined;
}

/** A page of events, oldest first. It may have fewer items than the limit, or none, while later events exist. */
export interface EventPage extends Page<Event> {
  /** The position behind this page. It is always present. A page without items and with the requested position is the end for now. */
  readonly next: string;
}

/** Filters of the audit trail. They are combined with AND. */
export interface AuditQuery extends PageQuery {
  /** The user who acted. */
  readonly actor?: UserId | PlainNumber | undefined;
  readonly operation?: string | undefined;
  /** Together with `resourceId`. */
  readonly resourceType?: string | undefined;
  readonly resourceId?: number | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly from?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly to?: string | undefined;
}

/** Input of `placeOrder`. */
export interface PlaceOrderInput extends OrderStatements {
  /** The account that pays. */
  readonly accountId: AccountId | PlainNumber;
  /** The amount of each run without the fee: at least 1, in minor units of the account's currency. */
  readonly amount: string;
  readonly recipientID: RecipientId | PlainNumber;
  readonly type: OrderType;
  readonly repeatUnit?: RepeatUnit | undefined;
  /** RFC 3339 with an offset: the first run. Its local day and time anchor all others. */
  readonly startAt?: string | undefined;
  /** RFC 3339 with an offset, inclusive: no run is later. */
  readonly stopAt?: string | undefined;
  /** A quote for this account, amount and recipient. For an instant order only, because quotes expire. */
  readonly quoteID?: QuoteId | PlainNumber | undefined;
}

/** Filters of the list of orders. They are combined with AND. */
export interface OrderQuery extends PageQuery {
  readonly status?: OrderStatus | undefined;
  readonly type?: OrderType | undefined;
  readonly accountId?: AccountId | PlainNumber | undefined;
  readonly recipientId?: RecipientId | PlainNumber | undefined;
  /** The user for whom the order runs. */
  readonly placedBy?: UserId | PlainNumber | undefined;
  /** Matches at most one order. */
  readonly externalReference?: string | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
}

/** Identifies an order by its account and its id. */
export interface OrderName {
  readonly accountId: AccountId | PlainNumber;
  readonly orderId: OrderId | PlainNumber;
}

/** Selects a page of an order's executions: the latest, or earlier ones with a cursor. */
export interface OrderPageQuery extends PageQuery {
  readonly accountId?: AccountId | PlainNumber | undefined;
  readonly orderId: OrderId | PlainNumber;
}

/** An order with a page of its executions. The next page holds the executions before these. */
export type OrderPage = PagedRecord<Order>;

/**
 * Input of `createQuote`. Exactly one of `amount` and `targetAmount` is given, and exactly one of `recipientID` and `targetCurrency`.
 */
export interface CreateQuoteInput {
  /** The account that pays. */
  readonly accountID: AccountId | PlainNumber;
  /** The amount that leaves the account, without the fee: at least 1, in minor units of its currency. */
  readonly amount?: string | undefined;
  /** The exact amount that arrives: at least 1, in minor units of the target currency. */
  readonly targetAmount?: string | undefined;
  readonly recipientID?: RecipientId | PlainNumber | undefined;
  /** ISO 4217 alpha-3, in capital letters. */
  readonly targetCurrency?: string | undefined;
}

/** Selects a corridor, for persons and companies or for one of both. */
export interface CorridorQuery {
  /** ISO 3166-1 alpha-2 or alpha-3, in any case. */
  readonly countryCode: string;
  /** ISO 4217 alpha-3, in any case. */
  readonly currencyCode: string;
  readonly payoutMethod: PayoutMethod;
  readonly beneficiaryAccountType?: BeneficiaryAccountType | undefined;
}

/** Selects purposes. */
export interface PurposeQuery {
  /** ISO 3166-1 alpha-2 or alpha-3, in any case. Without it, the purposes of countries without a list of their own. */
  readonly countryCode?: string | undefined;
}

/** The payer's own data about a recipient. */
interface RecipientNote {
  /** The payer's name of the recipient: 1 to 140 characters of free text (`isFreeText`). */
  readonly alias?: string | undefined;
  /** Whether clients offer it again; true if it is omitted. */
  readonly saved?: boolean | undefined;
}

/** Input of `addInternationalRecipient`: a beneficiary abroad, paid over a corridor. */
export interface AddInternationalRecipientInput extends Omit<CorridorQuery, 'beneficiaryAccountType'>, RecipientNote {
  /** The details that the schemas of the corridor require. */
  readonly data: BeneficiaryData;
}

/** Input of `addInternalRecipient`: an account of this service, in any workspace. */
export interface AddInternalRecipientInput extends RecipientNote {
  /** `code` of the account. */
  readonly accountCode: string;
  /** The displayed name; the alias if it is omitted, else the code. */
  readonly name?: string | undefined;
}

/** Input of `changeRecipient`. The beneficiary and the account never change. */
export interface RecipientChange extends RecipientNote {
  readonly recipientId: RecipientId | PlainNumber;
}

/** Filters of the list of recipients. */
export interface RecipientQuery extends PageQuery {
  readonly saved?: boolean | undefined;
}

/** Input of `fundAccount`: an incoming amount. */
export interface FundAccountInput {
  readonly accountId: AccountId | PlainNumber;
  /** At least 1, in minor units of the account's currency. */
  readonly amount: string;
}

/** Input of `addTransactionEvent`: a status of the network for an international payment. */
export interface AddTransactionEventInput {
  readonly transactionId: TransactionId | PlainNumber;
  /** Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited, `RJCT` rejected. */
  readonly status: 'ACSP' | 'ACCC' | 'RJCT';
  /** The network's reason, such as `AC04`: 1 to 35 letters and digits. */
  readonly reasonCode?: string | undefined;
}

/** Input of `moveClock`: the new time of the workspace clock. */
export interface ClockChange {
  /** RFC 3339 with an offset. */
  readonly now: string;
}

/** Input of `replaceLimits`: all limits of the workspace. */
export interface LimitReplacement {
  /** `version` of the list that was read, so that no change of another administrator is lost. */
  readonly version: number;
  /** At most `LIMITS_MAX`, one of each measure. Empty for none. */
  readonly limits: readonly LimitTerms[];
}

/** The maximum number of approval rules of a workspace. */
export const APPROVAL_RULES_MAX = 50;
/** The maximum number of approvals that a rule requires. */
export const APPROVALS_MAX = 5;

/** Input of `replaceApprovalRules`: all rules, in place of the present ones. */
export interface ApprovalRulesChange {
  /** That of the present rules, 0 if there are none yet. */
  readonly version: number;
  readonly rules: readonly ApprovalRule[];
}

/** Names an approval of the workspace. */
export interface ApprovalName {
  readonly approvalId: ApprovalId | PlainNumber;
}

/** Filters of the approvals. */
export interface ApprovalQuery extends PageQuery {
  readonly status?: ApprovalStatus | undefined;
}

/** Input of `decideApproval`. */
export interface ApprovalDecisionInput extends ApprovalName {
  readonly decision: 'approve' | 'reject';
  /** 1 to 512 characters of free text (`isFreeText`). */
  readonly comment?: string | undefined;
  /** That of the approval that the approver has read. */
  readonly version: number;
}

/** The maximum number of webhook endpoints of a workspace. */
export const WEBHOOK_ENDPOINTS_MAX = 20;
/** The maximum number of events of a period that is delivered again, of all types. */
export const WEBHOOK_REPLAY_MAX = 10_000;
/** The maximum number of pending deliveries of a workspace with which another one may be requested. */
export const WEBHOOK_PENDING_MAX = 20_000;
/** The maximum number of deliveries that a workspace requests on a day of UTC: tests, retries and replayed events. */
export const WEBHOOK_REQUESTED_MAX = 50_000;
/** The maximum length of the address of an endpoint, in characters. */
export const WEBHOOK_URL_MAX = 2_048;

/** Input of `createWebhookEndpoint`. */
export interface CreateWebhookEndpointInput {
  /** `https`, without credentials and fragment. In a sandbox also `http` to the loopback interface. */
  readonly url: string;
  /** The types of events to deliver. All types if it is empty or omitted. */
  readonly types?: readonly EventType[] | undefined;
  /** 1 to 140 characters of free text (`isFreeText`). */
  readonly description?: string | undefined;
}

/** Names an endpoint of the workspace. */
export interface WebhookEndpointName {
  readonly webhookEndpointId: WebhookEndpointId | PlainNumber;
}

/** Input of `changeWebhookEndpoint`. Omitted fields stay. */
export interface WebhookEndpointChange extends WebhookEndpointName {
  readonly url?: string | undefined;
  /** Empty for all types. */
  readonly types?: readonly EventType[] | undefined;
  readonly description?: string | undefined;
  /** An endpoint that is enabled again continues with the first event that was not delivered. */
  readonly status?: 'enabled' | 'disabled' | undefined;
}

/** Input of `replayWebhookEvents`: a period of the times of events. */
export interface WebhookReplayInput extends WebhookEndpointName {
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom: string;
  /** RFC 3339 with an offset, exclusive, not before `createdFrom`. */
  readonly createdTo: string;
}

/** The result of `replayWebhookEvents`. */
export interface WebhookReplay {
  /** How many events are delivered again. */
  readonly deliveries: number;
}

/** Filters of the deliveries of an endpoint. */
export interface WebhookDeliveryQuery extends WebhookEndpointName, PageQuery {
  readonly status?: WebhookDeliveryStatus | undefined;
}

/** Names a delivery of an endpoint. */
export interface WebhookDeliveryName extends WebhookEndpointName {
  readonly webhookDeliveryId: WebhookDeliveryId | PlainNumber;
}
