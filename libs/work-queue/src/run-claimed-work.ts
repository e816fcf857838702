import { Refusal } from '@banking/domain';
import { backoffMs, type BoundStatement, type Database } from '@banking/postgres';
import { delayWork, endWork, holdBack, isLostClaim, parkWork, postponeWork, retryLater, type Claim } from './claims.js';
import { WORK_RETRY_POLICIES } from './work-retry-policies.js';
import { isTransientFailure } from './transient-failure.js';

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
  /** The writes that are recorded together with a failed try. */
  noteFailure?(claim: Claim, failure: FailedAttempt): readonly BoundStatement<unknown>[];
}

/** An error with a message for operators: it contains no name, account number or amount. */
export class WorkError extends Error {
  override readonly name = 'WorkError';
}

export interface HandlingOptions {
  readonly database: Database;
  /** Draws the delays: from 0 to below 1. Default Math.random. */
  readonly random?: (() => number) | undefined;
  /** Receives each error with the work or the chore that failed; for the log. */
  readonly onError?: ((error: unknown, failed?: FailedWork) => void) | undefined;
}

/** The claim or the chore that failed. */
interface FailedWork extends Partial<Claim> {
  readonly chore?: string;
}

/** Does claimed work and records its result, under the fence of the claim. Never throws. */
export async function runClaimedWork(
  { database, random = Math.random, onError = () => undefined }: HandlingOptions,
  handler: WorkHandler,
  claim: Claim,
  signal: AbortSignal,
): Promise<void> {
  const record = (writes: readonly BoundStatement<unknown>[]) =>
    database.pipeline({ workspaces: [claim.workspaceId] }, writes);
  try {
    const outcome = await handler.run(claim, signal);
    await record(writesOf(claim, outcome));
  } catch (error) {
    if (isLostClaim(error)) return;
    onError(error, claim);
    const isTransient = isTransientFailure(error);
    const failure = {
      reason: reasonOf(error),
      isParked: !isTransient && claim.tries >= WORK_RETRY_POLICIES.work.triesMax,
    };
    const writes = retryOrPark(claim, failure, isTransient, random());
    await record([...writes, ...(handler.noteFailure?.(claim, failure) ?? [])]).catch((unrecorded: unknown) => {
      // A worker that has taken the work over records its own result.
      if (!isLostClaim(unrecorded)) onError(unrecorded, claim);
    });
  }
}

function writesOf(claim: Claim, outcome: WorkOutcome): BoundStatement<unknown>[] {
  if (outcome === 'done') return endWork(claim);
  const { laterMs, heldFor } = outcome;
  return heldFor === undefined ? postponeWork(claim, laterMs) : holdBack(claim, laterMs, heldFor);
}

/** A transient failure lengthens the delay and uses no try; any other counts, and the tenth parks. */
function retryOrPark(
  claim: Claim,
  { reason, isParked }: FailedAttempt,
  isTransient: boolean,
  random: number,
): BoundStatement<unknown>[] {
  if (isParked) return parkWork(claim, reason);
  const policy = WORK_RETRY_POLICIES.work;
  if (isTransient) return delayWork(claim, backoffMs(policy, claim.delays + 1, random), reason);
  return retryLater(claim, backoffMs(policy, claim.tries, random), reason);
}

/** The reason for the queue, which row-level security does not protect: our own texts only. The log has the error. */
function reasonOf(error: unknown): string {
  if (error instanceof WorkError) return error.message.slice(0, 500);
  if (error instanceof Refusal) return error.reason;
  return 'unhandled error: see the log';
}
