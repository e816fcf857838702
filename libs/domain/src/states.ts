/** The allowed next states of each state. A state without next states is final. */
export type Steps<State extends string = string> = Readonly<Record<State, readonly State[]>>;

/**
 * A transaction is pending until the rail reports a final status. Both are final: money that returns later is a new, linked
 * transaction.
 */
export const TRANSACTION_STEPS = {
  pending: ['completed', 'failed'],
  completed: [],
  failed: [],
} as const satisfies Steps<'pending' | 'completed' | 'failed'>;

/** An administrator can disable and enable an account any number of times. */
export const ACCOUNT_STEPS = {
  enabled: ['disabled'],
  disabled: ['enabled'],
} as const satisfies Steps<'enabled' | 'disabled'>;

/** An order is active while a run is left. The status `completed` is independent of the result at the rail. */
export const ORDER_STEPS = {
  active: ['completed', 'cancelled', 'failed'],
  completed: [],
  cancelled: [],
  failed: [],
} as const satisfies Steps<'active' | 'completed' | 'cancelled' | 'failed'>;

/**
 * One run of an order. It is pending while its transaction is. A run without a rail completes at once. A run that is refused when
 * it is due fails without being pending. The first run of an order that needs approvals awaits them.
 */
export const EXECUTION_STEPS = {
  awaiting_approval: ['scheduled', 'failed', 'cancelled'],
  scheduled: ['pending', 'completed', 'failed', 'cancelled'],
  pending: ['completed', 'failed'],
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Steps<'awaiting_approval' | 'scheduled' | 'pending' | 'completed' | 'failed' | 'cancelled'>;

/**
 * The delivery of one transaction over a rail. The final status of the rail ends it from any state: it may be received before the result of
 * the submission. A parked payout waits for an operator, who releases it.
 */
export const PAYOUT_STEPS = {
  due: ['submitting', 'settled', 'failed'],
  submitting: ['submitted', 'parked', 'settled', 'failed'],
  submitted: ['parked', 'settled', 'failed'],
  parked: ['due', 'settled', 'failed'],
  settled: [],
  failed: [],
} as const satisfies Steps<'due' | 'submitting' | 'submitted' | 'parked' | 'settled' | 'failed'>;

/**
 * Money that arrived at a bank account of the service. A deposit that is assigned has ended: the one of the right account has its money.
 */
export const DEPOSIT_STEPS = {
  pending: ['booked', 'unmatched', 'assigned', 'returned'],
  booked: ['assigned', 'returned'],
  unmatched: ['assigned', 'returned'],
  assigned: [],
  returned: [],
} as const satisfies Steps<'pending' | 'booked' | 'unmatched' | 'assigned' | 'returned'>;

/** A request that needs approvals. An approved one is carried out, or refused with the state of that moment. */
export const APPROVAL_STEPS = {
  required: ['approved', 'rejected', 'withdrawn', 'expired'],
  approved: [],
  rejected: [],
  withdrawn: [],
  expired: [],
} as const satisfies Steps<'required' | 'approved' | 'rejected' | 'withdrawn' | 'expired'>;

/** A user is pending until the sign-up is complete. An operator can suspend and resume a user. Only a completed user has roles. */
export const USER_STEPS = {
  pending: ['completed'],
  completed: ['suspended'],
  suspended: ['completed'],
} as const satisfies Steps<'pending' | 'completed' | 'suspended'>;

/**
 * A webhook endpoint fails after several failed deliveries in a row, and is enabled again by a success. An administrator or the worker
 * disables it, and an administrator enables it.
 */
export const WEBHOOK_ENDPOINT_STEPS = {
  enabled: ['failing', 'disabled'],
  failing: ['enabled', 'disabled'],
  disabled: ['enabled'],
} as const satisfies Steps<'enabled' | 'failing' | 'disabled'>;

export type TransactionStatus = keyof typeof TRANSACTION_STEPS;
export type AccountStatus = keyof typeof ACCOUNT_STEPS;
export type OrderStatus = keyof typeof ORDER_STEPS;
export type ExecutionStatus = keyof typeof EXECUTION_STEPS;
export type PayoutStatus = keyof typeof PAYOUT_STEPS;
export type DepositStatus = keyof typeof DEPOSIT_STEPS;
export type ApprovalStatus = keyof typeof APPROVAL_STEPS;
export type UserStatus = keyof typeof USER_STEPS;
export type WebhookEndpointStatus = keyof typeof WEBHOOK_ENDPOINT_STEPS;

/** Whether a table allows a step between two states. Staying in a state is not a step. An unknown state has no steps. */
export function isLegalStep(table: Steps, from: string, to: string): boolean {
  return next(table, from).includes(to);
}

/** Whether the table contains the state, without next states. */
export function isFinal(table: Steps, state: string): boolean {
  return Object.hasOwn(table, state) && next(table, state).length === 0;
}

/** Own properties only, because `constructor` is not a state. */
function next(table: Steps, from: string): readonly string[] {
  return Object.hasOwn(table, from) ? (table[from] ?? []) : [];
}
