import { setTimeout as delay } from 'node:timers/promises';
import { Refusal, type RefusalReason } from '@banking/domain';
import { CommitInDoubtError } from '@banking/postgres';

/**
 * Delays in milliseconds before each retry. An order waits for a server that restarts, and the caller's own deadline is longer. A
 * change of a row is retried once.
 */
export const RETRY_DELAYS_MS = { order: [0, 250, 500, 1_000, 2_000], change: [0] } as const;

/** Refusals after which it is still unknown whether an earlier attempt was committed. */
const UNDECIDED: ReadonlySet<RefusalReason> = new Set(['unavailable', 'outcome_unknown']);

/**
 * Makes a change, and retries it if its commit is in doubt.
 *
 * @param attempt recognises the effect of an earlier attempt if `isRetry`; it waits for the locks of the lost session
 * @throws CommitInDoubtError of the first attempt if no retry decides
 */
export async function retryInDoubt<T>(
  attempt: (isRetry: boolean) => Promise<T>,
  delaysMs: readonly number[],
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await attempt(false);
  } catch (doubt) {
    if (!(doubt instanceof CommitInDoubtError)) throw doubt;
    for (const delayMs of delaysMs) {
      await delay(delayMs);
      if (signal?.aborted === true) break;
      try {
        return await attempt(true);
      } catch (error) {
        if (isDecided(error)) throw error;
      }
    }
    throw doubt;
  }
}

/** A refusal of the change itself is a decision. Any other error leaves the outcome of the first attempt unknown. */
const isDecided = (error: unknown): boolean => error instanceof Refusal && !UNDECIDED.has(error.reason);
