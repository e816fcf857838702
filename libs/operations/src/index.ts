export { LedgerBankingService } from './ledger-banking-service.js';
export { LedgerDirectory } from './apps/directory.js';
export {
  applyDueReference,
  listReferenceChanges,
  missingReference,
  readReferenceInForce,
  recordReference,
  tryReference,
  type ReferenceChange,
  ReferenceChangeError,
  type StatedChange,
  withdrawReference,
} from './reference/reference-changes.js';
export { type ReferenceDifference, referenceDifferences } from './reference/reference-differences.js';
export { VERSIONS_OF_CELL } from './reference/reference.js';
export { isSandbox } from './sandbox/sandbox.js';

// Orders
export { OrderService } from './orders/order-service.js';
export { EXECUTION } from './orders/schedule.js';
export { WORK_KINDS } from './worker/work-kinds.js';
export { COUNT_UNRECORDED_AUDIT, recordAudit } from './audit/record-audit.js';
export { hasWorkspace, noteRefusals, RefusedRequests, type RefusalStore } from './audit/refused-requests.js';
export { COUNT_UNRECORDED } from './events/record-changes.js';
export { handOverTo, refreshStatistics, startBankingWorker } from './worker/start-banking-worker.js';
export { verificationChannel, type VerificationMessage } from './worker/verify-continuously.js';
export { demandDecisions, PAYOUT, readPayoutStop, type PayoutStop, SANDBOX_ROUTING } from '@banking/payouts';

// Payments between databases
export { type ArrivalOutcome, type CrossingPort, type SubmittedCrossing } from './crossings/crossings.js';
export { Arrivals } from './crossings/arrivals.js';
export { type AccountCodes, newAccountCode } from './accounts/accounts.js';

// For metrics and traces
export { orderBatchChannel, orderChannel } from './orders/prepared-order.js';

export type { WebhookTerms } from './webhooks/webhook-endpoints.js';

// For operators and the demo data
export { digestOfConversion, digestOfOrder, digestOfRecipient } from './payments/payment-entries.js';
export { type DirectorySlot, READ_SLOTS, SLOT_NAME, SCOPE_CHECK } from './cells/cells.js';
