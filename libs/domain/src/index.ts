/** The types and rules of the service, by topic. */

// Money
export * from './amount.js';
export * from './convert.js';
export * from './currencies.js';
export * from './display.js';

// Resources on the wire
export * from './resources/account.js';
export * from './resources/deposit.js';
export * from './resources/event.js';
export * from './resources/limit.js';
export * from './resources/approval.js';
export * from './resources/member.js';
export * from './resources/order.js';
export * from './resources/recipient.js';
export * from './resources/reference.js';
export * from './resources/sandbox-clock.js';
export * from './resources/service-account.js';
export * from './resources/payment-advice.js';
export * from './resources/bank-reconciliation.js';
export * from './resources/statement.js';
export * from './resources/transaction.js';
export * from './resources/user.js';
export * from './resources/webhook.js';

// Values and inputs
export * from './email.js';
export * from './event-types.js';
export * from './free-text.js';
export * from './idempotency.js';
export * from './ids.js';
export * from './inputs.js';
export * from './key-text.js';
export * from './lists.js';
export * from './open.js';
export type { OrderStatements } from './order-statements.js';
export * from './service-account-inputs.js';
export * from './states.js';
export * from './timestamp.js';
export * from './webhook-id.js';

// Refusals
export { BankingError, type BankingErrorFields } from './banking-error.js';
export type { ErrorBody, RefusalDetail, RefusalOptions } from './base-refusal.js';
export * from './refusal-table.js';

// The operations and the port
export * from './approvable-operations.js';
export * from './approval-pending.js';
export * from './banking-service.js';
export * from './directory.js';
export * from './operations.js';
export * from './operation-scopes.js';
export * from './scope.js';
