import type { AccountId, ApprovalId, OrderId, UserId } from '../ids.js';
import type { CurrencyCode } from '../currencies.js';
import type { Open } from '../open.js';
import type { ApprovalStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';

/** The groups of operations that rules name. */
export const APPROVAL_GROUPS = [
  'orders',
  'recipients',
  'endpoints',
  'members',
  'serviceAccounts',
  'keys',
  'limits',
  'rules',
] as const;
export type ApprovalGroup = (typeof APPROVAL_GROUPS)[number];

/** The groups of payers: only approvers approve these. Administrators may approve the others too, where a rule says so. */
export const PAYING_GROUPS: readonly ApprovalGroup[] = ['orders', 'recipients'];

export const APPROVER_ROLES = ['approver', 'admin'] as const;
export type ApproverRole = (typeof APPROVER_ROLES)[number];

/** The largest amount up to which an order in a currency needs no approval. */
export interface ApprovalBound {
  readonly currencyCode: Open<CurrencyCode>;
  /** In minor units of the currency. */
  readonly amount: string;
}

/** How many people must approve. A rule has one, and a request one for each rule that applies. */
export interface ApprovalRequirement {
  /** 1 to 5. Each is of another person. */
  readonly approvals: number;
  /** The roles that may approve. */
  readonly roles: readonly Open<ApproverRole>[];
}

/** Which operations need approvals. A rule applies if all its conditions hold. Conditions are for orders only. */
export interface ApprovalRule extends ApprovalRequirement {
  readonly operations: Open<ApprovalGroup>;
  /** Orders above the amount of the account's currency, and all orders in currencies that are not listed. */
  readonly amountAbove?: readonly ApprovalBound[];
  /** Orders of this account. */
  readonly accountID?: AccountId;
  /** Orders to a recipient that was added less than so many days ago: 1 to 3650. */
  readonly recipientNewerThanDays?: number;
}

/** The rules of a workspace. */
export interface ApprovalRules {
  /** 0 for a workspace that never had rules. */
  readonly version: number;
  readonly rules: readonly ApprovalRule[];
  /** The user who made them. */
  readonly changedBy?: UserId;
  readonly changedAt?: Timestamp;
}

/** What one person decided. */
export interface ApprovalDecision {
  readonly userID: UserId;
  readonly decision: Open<'approve' | 'reject'>;
  readonly comment?: string;
  /** The roles of the person at that time. */
  readonly roles: readonly string[];
  readonly decidedAt: Timestamp;
}

/** How an approved request ended. */
export interface ApprovalOutcome {
  readonly status: Open<'carried_out' | 'refused'>;
  /** Of a refusal: a reason of the refusal table, or `order_cancelled`. */
  readonly reason?: string;
  readonly message?: string;
  /** What was made or changed. */
  readonly resource?: { readonly type: string; readonly id: number };
  readonly at: Timestamp;
}

/** A request that waits for approvals, or that waited for them. */
export interface Approval {
  readonly id: ApprovalId;
  /** Raised by each decision and each change of the status. A decision names it. */
  readonly version: number;
  readonly status: Open<ApprovalStatus>;
  /** The operation, as the OpenAPI document names it. */
  readonly operation: string;
  /** Its group. */
  readonly operations: Open<ApprovalGroup>;
  /** The input of the operation: parameters of the path and the query, and the fields of the body. Names of ids end in `ID`. */
  readonly input: Readonly<Record<string, unknown>>;
  /** What the maker saw, such as the recipient and the price of an order, or the resource as it was. */
  readonly shown: Readonly<Record<string, unknown>>;
  /**
   * SHA-256 in hex over the request in canonical JSON and a random salt. The transaction of an order covers it. It stays when the personal
   * data of the recipient are erased from `input` and `shown`.
   */
  readonly digest: string;
  readonly requirements: readonly ApprovalRequirement[];
  /** The user who asked. */
  readonly makerID?: UserId;
  /** The order that waits. */
  readonly orderID?: OrderId;
  readonly decisions: readonly ApprovalDecision[];
  /** Of an approved request that was carried out or refused. */
  readonly outcome?: ApprovalOutcome;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  readonly expiresAt: Timestamp;
}
