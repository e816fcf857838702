/** Which states may follow each state. A state that nothing follows is final. */
export type Steps<State extends string = string> = Readonly<Record<State, readonly State[]>>;

/**
 * A transaction is pending until the rail's last word. Both words are final: money that comes back later is a new,
 * linked transaction.
 */
export const TRANSACTION_STEPS = {
  pending: ['completed', 'failed'],
  completed: [],
  failed: [],
} as const satisfies Steps<'pending' | 'completed' | 'failed'>;

/** An account is disabled and enabled again as often as an administrator likes. */
export const ACCOUNT_STEPS = {
  enabled: ['disabled'],
  disabled: ['enabled'],
} as const satisfies Steps<'enabled' | 'disabled'>;

/** An order is active while something is left to run; completed says nothing about what the rail answered. */
export const ORDER_STEPS = {
  active: ['completed', 'cancelled', 'failed'],
  completed: [],
  cancelled: [],
  failed: [],
} as const satisfies Steps<'active' | 'completed' | 'cancelled' | 'failed'>;

/**
 * One run of an order. It is pending while its transaction is; a run that needs no rail completes at once, and one
 * that is refused when its time comes fails without ever being pending.
 */
export const EXECUTION_STEPS = {
  scheduled: ['pending', 'completed', 'failed', 'cancelled'],
  pending: ['completed', 'failed'],
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Steps<'scheduled' | 'pending' | 'completed' | 'failed' | 'cancelled'>;

/** A user is pending until the sign-up is complete. An operator suspends a user and resumes it. Only a completed user has roles. */
export const USER_STEPS = {
  pending: ['completed'],
  completed: ['suspended'],
  suspended: ['completed'],
} as const satisfies Steps<'pending' | 'completed' | 'suspended'>;

export type TransactionStatus = keyof typeof TRANSACTION_STEPS;
export type AccountStatus = keyof typeof ACCOUNT_STEPS;
export type OrderStatus = keyof typeof ORDER_STEPS;
export type ExecutionStatus = keyof typeof EXECUTION_STEPS;
export type UserStatus = keyof typeof USER_STEPS;

/** Whether a table lets one state follow another. Staying where one is, is not a step; an unknown state has none. */
export function isLegalStep(table: Steps, from: string, to: string): boolean {
  return next(table, from).includes(to);
}

/** Whether a state is known to the table and nothing follows it. */
export function isFinal(table: Steps, state: string): boolean {
  return Object.hasOwn(table, state) && next(table, state).length === 0;
}

/** Own entries only: `constructor` is not a state of anything. */
function next(table: Steps, from: string): readonly string[] {
  return Object.hasOwn(table, from) ? (table[from] ?? []) : [];
}
