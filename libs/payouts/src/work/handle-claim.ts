import { Refusal } from '@banking/domain';
import type { Bound, Database } from '@banking/postgres';
import { delayWork, endWork, isLostClaim, parkWork, postponeWork, retryLater, type Claim } from './claims.js';
import { isPassingFailure } from './passing-failures.js';

/** What became of a piece of work: there is nothing left to do, or it is to be looked at again. */
export type WorkOutcome = 'done' | { readonly laterMs: number };

/** A failed try, as it is written down. */
export interface FailedTry {
  /** For an operator to read. */
  readonly reason: string;
  /** Whether it was the last: the work is laid aside. A passing failure never is. */
  readonly isParked: boolean;
}

/** Who does the work of one kind. */
export interface WorkHandler {
  /**
   * Does it. It may be called again for work that was done and not noted, so its effects must be such that happen once. What it
   * throws is a failed try. `signal` is aborted when the claim is lost and when the worker has to stop.
   */
  run(claim: Claim, signal: AbortSignal): Promise<WorkOutcome>;
  /** What is written together with the note of a failed try. */
  noteFailure?(claim: Claim, failure: FailedTry): readonly Bound<unknown>[];
}

/** An error whose message is meant for an operator: it holds no name, account number or amount. */
export class WorkError extends Error {
  override readonly name = 'WorkError';
}

export interface HandlingOptions {
  readonly database: Database;
  /** From 0 to below 1. Default Math.random. */
  readonly random?: (() => number) | undefined;
  /** Receives each error with the work or the chore that failed; for the log. */
  readonly onError?: ((error: unknown, failed?: FailedWork) => void) | undefined;
}

/** What failed: a claim, or a chore of the worker. */
interface FailedWork extends Partial<Claim> {
  readonly chore?: string;
}

export const TRIES_MAX = 10;
const DELAY_MIN_MS = 100;
const DELAY_FIRST_MS = 1_000;
export const DELAY_MAX_MS = 900_000;

/** Does claimed work and notes what became of it, under the fence of the claim. Never throws. */
export async function handleClaim(
  { database, random = Math.random, onError = () => undefined }: HandlingOptions,
  handler: WorkHandler,
  claim: Claim,
  signal: AbortSignal,
): Promise<void> {
  const note = (writes: readonly Bound<unknown>[]) => database.flight({ workspaces: [claim.workspaceId] }, writes);
  try {
    const outcome = await handler.run(claim, signal);
    await note(outcome === 'done' ? endWork(claim) : postponeWork(claim, outcome.laterMs));
  } catch (error) {
    if (isLostClaim(error)) return;
    onError(error, claim);
    const isPassing = isPassingFailure(error);
    const failure = { reason: reasonOf(error), isParked: !isPassing && claim.tries >= TRIES_MAX };
    const writes = writesOf(claim, failure, isPassing, random());
    await note([...writes, ...(handler.noteFailure?.(claim, failure) ?? [])]).catch((unnoted: unknown) => {
      // Nobody needs to be told: when the lease has run out, somebody tries again.
      if (!isLostClaim(unnoted)) onError(unnoted, claim);
    });
  }
}

/** A passing failure lengthens the delay and uses up no try; any other counts, and the tenth parks. */
function writesOf(claim: Claim, { reason, isParked }: FailedTry, isPassing: boolean, random: number): Bound<unknown>[] {
  if (isParked) return parkWork(claim, reason);
  if (isPassing) return delayWork(claim, delayMs(claim.delays + 1, random), reason);
  return retryLater(claim, delayMs(claim.tries, random), reason);
}

/** Full jitter up to twice the delay before, at most 15 minutes: what failed together is not retried together. */
export function delayMs(tries: number, random: number): number {
  const most = Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** tries);
  return Math.max(DELAY_MIN_MS, Math.floor(random * most));
}

/** What may be written where it is not guarded: our own words. The rest is in the log. */
function reasonOf(error: unknown): string {
  if (error instanceof WorkError) return error.message.slice(0, 500);
  if (error instanceof Refusal) return error.reason;
  return 'something that is not foreseen went wrong: see the log';
}
