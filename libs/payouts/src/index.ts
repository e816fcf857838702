export { PAYOUT_MIGRATIONS } from './migrations.js';

// A payment on its way
export * from './open-payouts.js';
export * from './carry-out.js';
export * from './hear-rail.js';
export * from './track-remittance.js';
export * from './discrepancies.js';

// The network
export * from './rail.js';
export { SandboxRail } from './sandbox-rail/sandbox-rail.js';
export { sandboxMessage } from './sandbox-rail/messages.js';

// The queue
export * from './work/claims.js';
export * from './work/handle-claim.js';
export * from './work/open-work.js';
export * from './work/list-work.js';
export * from './work/passing-failures.js';
export * from './work/retry-work.js';
export * from './work/worker.js';
