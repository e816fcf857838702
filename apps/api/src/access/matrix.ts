import type { RoleName } from '@banking/domain';

/**
 * Who may call an operation.
 *
 * `public`: anybody. `user`: whoever a token speaks for. A role: whoever holds it, or a higher one, in the workspace that
 * the header Workspace-ID names; the operation then belongs to that workspace.
 */
export type Access = 'public' | 'user' | RoleName;

/** Role × operation, once: the access check, the documentation and the tests are made from it. What is not here cannot be called. */
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
  forgetRecipient: 'member',
  listOrders: 'member',
  getOrder: 'member',
  placeOrder: 'member',
  cancelOrder: 'member',
  resumeOrder: 'admin',
  listAccounts: 'member',
  getAccount: 'member',
  openAccount: 'admin',
  changeAccount: 'admin',
  getStatement: 'member',
  createQuote: 'member',
  getQuote: 'member',
  listTransfers: 'member',
  getTransfer: 'member',
  fundAccount: 'member',
  addTransactionEvent: 'member',
  moveClock: 'admin',
  getLiveness: 'public',
  getReadiness: 'public',
} as const satisfies Record<string, Access>;

export type OperationId = keyof typeof ACCESS;

/** From least to most: a role may do what those before it may. */
const RANKS: readonly RoleName[] = ['member', 'admin'];

export function isRole(access: Access): access is RoleName {
  return access !== 'public' && access !== 'user';
}

export function suffices(held: RoleName, needed: RoleName): boolean {
  return RANKS.indexOf(held) >= RANKS.indexOf(needed);
}
