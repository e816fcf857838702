import type { OperationName } from './operations.js';
import type { ApprovalGroup } from './resources/approval.js';

interface ApprovableOperation {
  /** The group by which rules name the operation. */
  readonly group: ApprovalGroup;
  /** The operation that shows what is changed. The maker saw it, and so does the approver. */
  readonly shows?: OperationName;
}

/**
 * The operations that rules may require approvals of. An operation whose response has a secret is none of them: the worker carries out
 * what was approved, and could show the secret to no one.
 */
export const APPROVABLE_OPERATIONS = {
  placeOrder: { group: 'orders' },
  addInternationalRecipient: { group: 'recipients' },
  addInternalRecipient: { group: 'recipients' },
  changeRecipient: { group: 'recipients', shows: 'getRecipient' },
  deleteRecipient: { group: 'recipients', shows: 'getRecipient' },
  createWebhookEndpoint: { group: 'endpoints' },
  changeWebhookEndpoint: { group: 'endpoints', shows: 'getWebhookEndpoint' },
  deleteWebhookEndpoint: { group: 'endpoints', shows: 'getWebhookEndpoint' },
  replaceApprovalRules: { group: 'rules', shows: 'getApprovalRules' },
} as const satisfies Partial<Record<OperationName, ApprovableOperation>>;

export type ApprovableOperationName = keyof typeof APPROVABLE_OPERATIONS;

/** The row of an operation that rules may require approvals of. */
export const approvable = (name: string): ApprovableOperation | undefined =>
  Object.hasOwn(APPROVABLE_OPERATIONS, name) ? APPROVABLE_OPERATIONS[name as ApprovableOperationName] : undefined;
