export * from './ledger-banking-service.js';
export * from './apps/ledger-directory.js';
export { countDemoReference } from './reference/demo-reference.js';
export { loadReference } from './reference/load-reference.js';
export { VERSIONS_OF_CELL } from './reference/reference-data.js';
export { isSandbox } from './sandbox/require-sandbox.js';

// Orders
export { OrderService } from './orders/order-service.js';
export { EXECUTION } from './orders/order-statements.js';
export { COUNT_UNRECORDED_AUDIT } from './audit/count-unrecorded-audit.js';
export { hasWorkspace, noteRefusals } from './audit/note-refusals.js';
export { RefusedRequests, type RefusalStore } from './audit/refused-requests.js';
export { recordAudit } from './audit/record-audit.js';
export { COUNT_UNRECORDED } from './events/count-unrecorded.js';
export { refreshStatistics } from './worker/refresh-statistics.js';
export { startBankingWorker } from './worker/start-banking-worker.js';
export { PAYOUT, readPayoutStop, type PayoutStop } from '@banking/payouts';

// Payments between databases
export { CROSSING } from './crossings/open-crossings.js';
export { Arrivals } from './crossings/arrivals.js';
export type { ArrivalOutcome, CrossingPort, SubmittedCrossing } from './crossings/crossing-port.js';
export type { AccountCodes } from './accounts/account-codes.js';

// For metrics and traces
export { orderBatchChannel, orderChannel } from './orders/order-channels.js';
export { verificationChannel, type VerificationMessage } from './worker/verification-channel.js';

export type { WebhookTerms } from './webhooks/webhook-terms.js';

// For operators and the demo data
export { newAccountCode } from './accounts/account-code.js';
export { digestOfConversion, digestOfOrder, digestOfRecipient } from './payments/hashed-details.js';
export { type DirectorySlot, READ_SLOTS, SLOT_NAME } from './cells/directory-slots.js';
export { SCOPE_CHECK } from './cells/scope-check.js';
