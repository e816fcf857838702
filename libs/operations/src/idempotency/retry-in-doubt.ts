import { setTimeout as delay } from 'node:timers/promises';
import { Refusal, type RefusalReason } from '@banking/domain';
import { backoffMs, CommitInDoubtError, RETRY_POLICIES, type RetryPolicy } from '@banking/postgres';

/** An order waits for a server that restarts, and the caller's own deadline is longer. A change of a row is retried once. */
export const IN_DOUBT_POLICIES = {
  order: RETRY_POLICIES.commitInDoubt,
  change: { ...RETRY_POLICIES.commitInDoubt, triesMax: 2 },
} as const satisfies Readonly<Record<string, RetryPolicy>>;

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
  policy: RetryPolicy,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await attempt(false);
  } catch (doubt) {
    if (!(doubt instanceof CommitInDoubtError)) throw doubt;
    for (let retry = 1; retry < policy.triesMax; retry += 1) {
      await delay(retryDelayMs(policy, retry, Math.random()));
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

/**
 * The delay before a retry. The first retry is immediate, because most often only the connection is lost.
 *
 * @param retry from 1
 * @param random from 0 to below 1
 */
export function retryDelayMs(policy: RetryPolicy, retry: number, random: number): number {
  return retry === 1 ? 0 : backoffMs(policy, retry - 1, random);
}

/** A refusal of the change itself is a decision. Any other error leaves the outcome of the first attempt unknown. */
const isDecided = (error: unknown): boolean => error instanceof Refusal && !UNDECIDED.has(error.reason);
