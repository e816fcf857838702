import { Refusal } from '@banking/domain';
import { backoffMs, BatchedCalls, type BoundStatement, type Database, isServedElsewhere } from '@banking/postgres';
import { type Claim, isLostClaim, lockClaims, LostClaimError } from './claims.js';
import { changeWork, delayed, heldBack, postponed, retriedLater, type WorkChange } from './work-changes.js';
import {
  type FailedAttempt,
  isTransientFailure,
  WORK_RETRY_POLICIES,
  workChannel,
  WorkError,
  type WorkHandler,
  type WorkMessage,
  type WorkOutcome,
  type WorkResultKind,
} from './work-handler.js';

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

/** The result of a try, still to be recorded. */
export interface WorkResult {
  readonly claim: Claim;
  readonly handler: WorkHandler;
  readonly change: WorkChange;
  /** Set for a try that succeeded and is due again. */
  readonly isPostponed?: boolean;
  /** Set for a failed try. */
  readonly failure?: FailedAttempt;
}

/**
 * Records the results of tries, under the fences of their claims. Results that arrive while a batch is committed are in the next one.
 * A result whose claim is lost is left out of its batch, and delays no other.
 */
export class ResultRecorder {
  private readonly batches = new BatchedCalls<WorkResult, 'recorded' | 'lost'>((results) => this.recordAll(results));

  constructor(private readonly database: Database) {}

  /** @throws LostClaimError if another worker has the work; nothing was written */
  async record(result: WorkResult): Promise<void> {
    if ((await this.batches.call(result)) === 'lost') throw new LostClaimError('the claim is lost');
  }

  private recordAll(results: readonly WorkResult[]): Promise<readonly ('recorded' | 'lost')[]> {
    const workspaces = [...new Set(results.map(({ claim }) => claim.workspaceId))];
    return this.database.transaction({ workspaces }, async (tx) => {
      const claims = results.map(({ claim }) => claim);
      const held = await lockClaims(tx, claims);
      const kept = results.filter(({ claim }) => held.has(claim));
      await tx.commit([...changeWork(kept), ...notesOf(kept)]);
      return claims.map((claim) => (held.has(claim) ? 'recorded' : 'lost'));
    });
  }
}

/** The writes of the handlers, each for all results of its kind of work. */
function notesOf(results: readonly WorkResult[]): BoundStatement<unknown>[] {
  return [...new Set(results.map(({ handler }) => handler))].flatMap((handler) => {
    const own = results.filter((result) => result.handler === handler);
    const postponed = own.flatMap(({ claim, isPostponed }) => (isPostponed === true ? [claim] : []));
    const failures = own.flatMap(({ failure }) => failure ?? []);
    return [
      ...(postponed.length > 0 ? (handler.notePostponed?.(postponed) ?? []) : []),
      ...(failures.length > 0 ? (handler.noteFailures?.(failures) ?? []) : []),
    ];
  });
}
