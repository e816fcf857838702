// A payment on its way
export * from './open-payouts.js';
export * from './submit-payout.js';
export * from './receive-rail-events.js';
export * from './record-rail-event.js';
export { decideRailEvents, prepareRailEvents } from './decide-rail-events.js';
export * from './discrepancies.js';
export * from './return-payout.js';
export * from './reconcile-payouts.js';

// The network
export * from './rail.js';
export * from './payout-key.js';
export { SandboxRail } from './sandbox-rail/sandbox-rail.js';
export { sandboxMessage } from './sandbox-rail/messages.js';

export { COUNT_OPEN_PAYOUTS, SCOPE_OPEN_PAYOUTS } from './open-payout-counts.js';
export { networkChannel } from './network-channel.js';

export * from './payout-stop.js';
export * from './release-parked-work.js';
