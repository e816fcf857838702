import type { RoleName } from '@banking/domain';

/**
 * Who may call an operation.
 *
 * `public`: every client. `user`: every user with a valid token. A role: every user with this role or a higher one in the workspace of
 * the header Workspace-ID; the operation then belongs to that workspace.
 */
export type Access = 'public' | 'user' | RoleName;

/** The access matrix of all operations, for the access check, the documentation and the tests. An operation without a row cannot be called. */
export const ACCESS = {
  listApps: 'user',
  listAppUsers: 'user',
  listProducts: 'user',
  listCorridors: 'user',
  listRecipientSchemas: 'user',
  listPurposes: 'user',
  listRecipients: 'member',
  getRecipient: 'member',
  addInternationalRecipient: 'member',
  addInternalRecipient: 'member',
  changeRecipient: 'member',
  deleteRecipient: 'member',
  listOrders: 'member',
  getOrder: 'member',
  getOrderById: 'member',
  placeOrder: 'member',
  cancelOrder: 'member',
  resumeOrder: 'admin',
  listAuditEvents: 'admin',
  listAccounts: 'member',
  getAccount: 'member',
  openAccount: 'admin',
  changeAccount: 'admin',
  getStatement: 'member',
  createQuote: 'member',
  getQuote: 'member',
  listTransfers: 'member',
  getTransfer: 'member',
  getTransaction: 'member',
  fundAccount: 'member',
  addTransactionEvent: 'member',
  moveClock: 'admin',
  listEvents: 'member',
  getEvent: 'member',
  createWebhookEndpoint: 'admin',
  listWebhookEndpoints: 'admin',
  getWebhookEndpoint: 'admin',
  changeWebhookEndpoint: 'admin',
  deleteWebhookEndpoint: 'admin',
  rotateWebhookSecret: 'admin',
  testWebhookEndpoint: 'admin',
  replayWebhookEvents: 'admin',
  listWebhookDeliveries: 'admin',
  retryWebhookDelivery: 'admin',
  getLiveness: 'public',
  getReadiness: 'public',
} as const satisfies Record<string, Access>;

export type OperationId = keyof typeof ACCESS;

/** From the lowest to the highest: a role includes the rights of those before it. */
const RANKS: readonly RoleName[] = ['member', 'admin'];

export function isRole(access: Access): access is RoleName {
  return access !== 'public' && access !== 'user';
}

export function suffices(role: RoleName, needed: RoleName): boolean {
  return RANKS.indexOf(role) >= RANKS.indexOf(needed);
}
