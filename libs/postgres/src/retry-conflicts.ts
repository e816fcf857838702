import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs } from './backoff.js';
import { retryChannel } from './channels.js';
import { isConflict, sqlstateOf } from './failures.js';
import { RETRY_POLICIES } from './retry-policies.js';

/**
 * Runs work again that the server rolled back because of a deadlock or a serialization failure (40P01, 40001). A conflict that
 * outlasts all tries is reported as `unavailable`.
 *
 * @param work must have had no effect outside of the database
 * @throws what the last try threw
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  const policy = RETRY_POLICIES.conflict;
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries >= policy.triesMax || !isConflict(error)) throw error;
      if (retryChannel.hasSubscribers) retryChannel.publish({ sqlstate: sqlstateOf(error) ?? '', tries });
      await pause(backoffMs(policy, tries, Math.random()));
    }
  }
}
