// A payment on its way
export {
  COUNT_OPEN_PAYOUTS,
  freshPayout,
  type Outgoing,
  parsePayoutKey,
  PAYOUT,
  payoutKey,
  readOpenPayouts,
  SCOPE_OPEN_PAYOUTS,
  servedHere,
  uetrOf,
} from './open-payouts.js';
export { payoutHandler } from './submit-payout.js';
export { decisionChannel, type DecisionHook, type Payer, type PayerReader } from './decide-payout.js';
export { demandDecisions, endDecisionDemand, readDecisionDemand } from './decision-demand.js';
export {
  COUNT_HELD_PAYOUTS,
  countHeldPayouts,
  decideHeldPayout,
  type DecideOutcome,
  listHeldPayouts,
} from './held-payouts.js';
export { EVENTS_MAX, receiveRailEvents } from './receive-rail-events.js';
export { decideRailEvents, prepareRailEvents, recordEvent } from './record-rail-events.js';
export { settlePayments } from './settle-payments.js';
export {
  byOutgoing,
  type Discrepancy,
  findContradictedPayouts,
  findPositions,
  listDiscrepancies,
  nameOfOutgoing,
  type Resolution,
  resolveDiscrepancy,
} from './discrepancies.js';
export { returnPayout, type ReturnPayoutOutcome } from './return-payout.js';
export {
  findPayouts,
  isSameContent,
  type PaymentDifferenceKind,
  reconcilePayouts,
  type Reconciliation,
} from './reconcile-payouts.js';

// The network
export {
  type DeliveredRailEvent,
  type FoundPayment,
  networkChannel,
  NO_RAILS,
  type OpenRails,
  type Payee,
  type PayeeVerification,
  type Payment,
  type PaymentContent,
  type PaymentReader,
  type PayoutDestination,
  type PostalAddress,
  type Rail,
  type RailEvent,
  type RailRouting,
  type SubmittedPayment,
  traceNetwork,
  type VerifyPayee,
} from './rail.js';
export {
  outcomeFor,
  SANDBOX_RAIL,
  SANDBOX_ROUTING,
  SandboxRail,
  sandboxMessage,
  sandboxRails,
} from './sandbox-rail.js';

export { type PayoutStop, READ_STOP, readPayoutStop, resumePayouts, stopPayouts } from './payout-stop.js';
export { releaseAllParkedWork, releaseParkedWork } from './parked-work.js';
