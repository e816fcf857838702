import { Refusal, RETRY_AFTER_S } from '@banking/domain';
import { SQLSTATE, sqlstateOf, isUnavailable } from '@banking/postgres';

/** How long a cell that did not answer is not called. */
const PAUSE_MS = 1_000;

/**
 * Calls of one cell for work that can wait. After a call for which the cell was away, calls are refused for a second, and then until one
 * call has ended. So the work for a cell that does not answer does not occupy a worker, which has work for others.
 */
export class AwayCircuit {
  /** Undefined while the cell answers; infinite during the call that tries it again. */
  private pausedUntilMs: number | undefined;

  /** @param nowMs milliseconds of a monotonic clock */
  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** @throws Refusal `unavailable` without a call. @throws what `run` throws */
  async call<T>(run: () => Promise<T>): Promise<T> {
    if (this.pausedUntilMs !== undefined) {
      if (this.nowMs() < this.pausedUntilMs) {
        throw new Refusal('unavailable', undefined, { retryAfterSeconds: RETRY_AFTER_S });
      }
      this.pausedUntilMs = Infinity;
    }
    try {
      const result = await run();
      this.pausedUntilMs = undefined;
      return result;
    } catch (error) {
      this.pausedUntilMs = isAway(error) ? this.nowMs() + PAUSE_MS : undefined;
      throw error;
    }
  }
}

/** A database that answers may refuse to wait longer for the lock of one account. */
const isAway = (error: unknown): boolean => isUnavailable(error) && sqlstateOf(error) !== SQLSTATE.lockNotAvailable;
