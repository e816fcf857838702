import { type Operation, type OperationName, OPERATIONS } from './operations.js';
import type { ApprovalGroup } from './resources/approval.js';

interface ApprovableOperation {
  /** The group by which rules name the operation. */
  readonly group: ApprovalGroup;
  /** The operation that shows what is changed. The maker saw it, and so does the approver. */
  readonly shows?: OperationName;
  /**
   * Whether its response has a secret, which the worker could show to no one. The maker repeats the request with its key after it is
   * approved, and gets the secret.
   */
  readonly isCarriedOutByMaker?: boolean;
}

/**
 * The operations that rules may require approvals of. Those that take rights away are none of them, because they must not wait. The secret
 * of a webhook endpoint is none either: its address was approved.
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
  inviteMember: { group: 'members', isCarriedOutByMaker: true },
  changeMember: { group: 'members', shows: 'getMember' },
  createServiceAccount: { group: 'serviceAccounts' },
  changeServiceAccount: { group: 'serviceAccounts', shows: 'getServiceAccount' },
  createServiceAccountKey: { group: 'keys', shows: 'getServiceAccount', isCarriedOutByMaker: true },
  rotateServiceAccountKey: { group: 'keys', shows: 'getServiceAccountKey', isCarriedOutByMaker: true },
  replaceLimits: { group: 'limits', shows: 'getLimits' },
  replaceApprovalRules: { group: 'rules', shows: 'getApprovalRules' },
} as const satisfies Partial<Record<OperationName, ApprovableOperation>>;

export type ApprovableOperationName = keyof typeof APPROVABLE_OPERATIONS;

/** The row of an operation that rules may require approvals of. */
export const approvable = (name: string): ApprovableOperation | undefined =>
  Object.hasOwn(APPROVABLE_OPERATIONS, name) ? APPROVABLE_OPERATIONS[name as ApprovableOperationName] : undefined;

const isForAdministrators = (name: OperationName): boolean => {
  const { access }: Operation = OPERATIONS[name];
  return typeof access !== 'string' && access.every((role) => role === 'admin');
};

/**
 * The groups whose resources only administrators read. A request of them has what these resources have, so it is shown to administrators, to
 * those with a role that it requires, and to its maker.
 */
export const ADMINISTRATORS_GROUPS: readonly ApprovalGroup[] = [
  ...new Set(
    Object.values<ApprovableOperation>(APPROVABLE_OPERATIONS)
      .filter(({ shows }) => shows !== undefined && isForAdministrators(shows))
      .map(({ group }) => group),
  ),
];
