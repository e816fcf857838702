import type { BoundStatement } from '@banking/postgres';
import type { Claim } from './claims.js';

/** The result of a piece of work: it is complete, or it is due again later. */
export type WorkOutcome =
  | 'done'
  | {
      readonly laterMs: number;
      /** Why nothing was done, for operators. It was no try then. */
      readonly heldFor?: string;
    };

/** A failed try, as it is recorded. */
export interface FailedAttempt {
  readonly claim: Claim;
  /** For an operator to read. */
  readonly reason: string;
  /** Whether it was the last: the work is parked. A transient failure never parks. */
  readonly isParked: boolean;
}

/** Does the work of one kind. */
export interface WorkHandler {
  /**
   * Does the work. It may be called again for work that was done and not recorded, so its effects must be idempotent. An error is a
   * failed try. `signal` is aborted when the claim is lost and when the worker has to stop.
   */
  run(claim: Claim, signal: AbortSignal): Promise<WorkOutcome>;
  /** The writes that are recorded together with tries that succeeded and whose work is due again: one statement for any number. */
  notePostponed?(claims: readonly Claim[]): readonly BoundStatement<unknown>[];
  /** The writes that are recorded together with failed tries. */
  noteFailures?(failures: readonly FailedAttempt[]): readonly BoundStatement<unknown>[];
}
