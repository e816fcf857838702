import { tracingChannel } from 'node:diagnostics_channel';
import { Refusal, type RefusalReason } from '@banking/domain';
import { type Backoff, type BoundStatement, isServedElsewhere, type RetryPolicy } from '@banking/postgres';
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
  /** The payment networks whose work it does. Without them, it does the work that has none. */
  readonly rails?: readonly string[];
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

/** Failed tries after which work is parked. Transient failures do not count. */
export const TRIES_MAX = 10;

/** What a worker tries again. The delays have full jitter (`backoffMs`). */
export const WORK_RETRY_POLICIES = {
  /** A piece of work that failed. A transient failure has the same delays, without a limit of tries. */
  work: { triesMax: TRIES_MAX, minMs: 100, firstMs: 2_000, maxMs: 900_000 },
  /** The claim of due work, while the database cannot serve. */
  claim: { minMs: 100, firstMs: 500, maxMs: 5_000 },
  /** A chore that failed, such as receiving the events of the network. */
  chore: { minMs: 100, firstMs: 500, maxMs: 60_000 },
} as const satisfies Readonly<Record<string, Backoff | RetryPolicy>>;

/** The interval at which a worker without work polls the queue. A chore may have an interval of its own. */
export const IDLE_MS = 250;

/** How often a worker renews its leases of 30 seconds. */
export const HEARTBEAT_MS = 10_000;

/** An error with a message for operators: it contains no name, account number or amount. */
export class WorkError extends Error {
  override readonly name = 'WorkError';
}

/** What work calls does not serve, as an operator reads it. It delays the work and does not count as a try. */
export class OutageError extends WorkError {}

/** The refusals that end without a change of the work: the database or a rate source cannot serve, or an outcome is not known yet. */
const TRANSIENT: ReadonlySet<RefusalReason> = new Set(['unavailable', 'rate_unavailable', 'outcome_unknown']);

/** Whether a failure ends without a change of the work: it delays the work and does not count as a try. */
export function isTransientFailure(error: unknown): boolean {
  if (error instanceof OutageError) return true;
  return isServedElsewhere(error) || (error instanceof Refusal && TRANSIENT.has(error.reason));
}

/** Channels for metrics and traces, as in `channels.ts` of `@banking/postgres`. */

/**
 * The result of a try. `postponed` has succeeded and is due again, `held` was no try, `retried` and `delayed` have failed, `parked` waits
 * for an operator, `lost` belongs to another worker.
 */
export type WorkResultKind = 'done' | 'postponed' | 'held' | 'retried' | 'delayed' | 'parked' | 'lost';

/** A claimed piece of work, such as a payout, from its start until its result is recorded. It has no error: a failure is a result. */
export interface WorkMessage extends Pick<Claim, 'kind' | 'workspaceId' | 'tries'> {
  /** Set at the end. */
  outcome?: WorkResultKind;
  /** Why the try failed, as it is recorded for operators. */
  reason?: string;
}

export const workChannel = tracingChannel<unknown, WorkMessage>('banking:work:work');

/** A run of a chore. Its error is in `error`. */
export interface ChoreMessage {
  readonly name: string;
}

export const choreChannel = tracingChannel<unknown, ChoreMessage>('banking:work:chore');
