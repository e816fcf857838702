import { Refusal } from '@banking/domain';
import { backoffMs, isServedElsewhere } from '@banking/postgres';
import { isLostClaim, type Claim } from './claims.js';
import type { ResultRecorder, WorkResult } from './record-results.js';
import { delayed, heldBack, postponed, retriedLater, type WorkChange } from './work-changes.js';
import { workChannel, type WorkMessage, type WorkResultKind } from './work-channels.js';
import { WORK_RETRY_POLICIES } from './work-retry-policies.js';
import { isTransientFailure } from './transient-failure.js';
import type { FailedAttempt, WorkHandler, WorkOutcome } from './work-handler.js';

/** An error with a message for operators: it contains no name, account number or amount. */
export class WorkError extends Error {
  override readonly name = 'WorkError';
}

export interface HandlingOptions {
  /** Draws the delays: from 0 to below 1. Default Math.random. */
  readonly random?: (() => number) | undefined;
  /** Receives each error with the work or the chore that failed; for the log. */
  readonly onError?: ((error: unknown, failed?: FailedWork) => void) | undefined;
}

/** The claim or the chore that failed. */
interface FailedWork extends Partial<Claim> {
  readonly chore?: string;
}

/** Does claimed work and records its result, in a batch with others and under the fence of the claim. Never throws. */
export async function runClaimedWork(
  options: HandlingOptions,
  recorder: ResultRecorder,
  handler: WorkHandler,
  claim: Claim,
  signal: AbortSignal,
): Promise<void> {
  const run = () => runAndRecord(options, recorder, handler, claim, signal);
  if (!workChannel.hasSubscribers) {
    await run();
    return;
  }
  const { kind, workspaceId, tries } = claim;
  const message: WorkMessage = { kind, workspaceId, tries };
  await workChannel.tracePromise(async () => {
    Object.assign(message, await run());
  }, message);
}

async function runAndRecord(
  { random = Math.random, onError = () => undefined }: HandlingOptions,
  recorder: ResultRecorder,
  handler: WorkHandler,
  claim: Claim,
  signal: AbortSignal,
): Promise<{ readonly outcome: WorkResultKind; readonly reason?: string }> {
  try {
    const outcome = await handler.run(claim, signal);
    await recorder.record({ claim, handler, ...resultOf(claim, outcome) });
    if (outcome === 'done') return { outcome };
    return { outcome: outcome.heldFor === undefined ? 'postponed' : 'held' };
  } catch (error) {
    if (isLostClaim(error)) return { outcome: 'lost' };
    if (!isServedElsewhere(error)) onError(error, claim);
    const isTransient = isTransientFailure(error);
    const failure = {
      claim,
      reason: reasonOf(error),
      isParked: !isTransient && claim.tries >= WORK_RETRY_POLICIES.work.triesMax,
    };
    const change = retryOrPark(failure, isTransient, random());
    await recorder.record({ claim, handler, change, failure }).catch((unrecorded: unknown) => {
      // A worker that has taken the work over records its own result. In a workspace that is closed here, the work is delayed by its lease.
      if (!isLostClaim(unrecorded) && !isServedElsewhere(unrecorded)) onError(unrecorded, claim);
    });
    const { reason, isParked } = failure;
    if (isParked) return { outcome: 'parked', reason };
    return { outcome: isTransient ? 'delayed' : 'retried', reason };
  }
}

function resultOf(claim: Claim, outcome: WorkOutcome): Pick<WorkResult, 'change' | 'isPostponed'> {
  if (outcome === 'done') return { change: { kind: 'end' } };
  const { laterMs, heldFor } = outcome;
  if (heldFor !== undefined) return { change: heldBack(claim, laterMs, heldFor) };
  return { change: postponed(laterMs), isPostponed: true };
}

/** A transient failure lengthens the delay and uses no try; any other counts, and the tenth parks. */
function retryOrPark({ claim, reason, isParked }: FailedAttempt, isTransient: boolean, random: number): WorkChange {
  if (isParked) return { kind: 'park', reason };
  const policy = WORK_RETRY_POLICIES.work;
  if (isTransient) return delayed(claim, backoffMs(policy, claim.delays + 1, random), reason);
  return retriedLater(claim, backoffMs(policy, claim.tries, random), reason);
}

/** The reason for the queue, which row-level security does not protect: our own texts only. The log has the error. */
function reasonOf(error: unknown): string {
  if (error instanceof WorkError) return error.message.slice(0, 500);
  if (error instanceof Refusal) return error.reason;
  if (isServedElsewhere(error)) return 'the workspace is being moved to another database';
  return 'unhandled error: see the log';
}
