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

  /**
   * @param nowMs milliseconds of a monotonic clock
   * @param onReturn is called when the cell answers after it was away
   */
  constructor(
    private readonly nowMs: () => number = () => performance.now(),
    private readonly onReturn: () => void = () => undefined,
  ) {}

  /** Whether the last call that ended did not reach the cell. */
  get isAway(): boolean {
    return this.pausedUntilMs !== undefined;
  }

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
      this.answered();
      return result;
    } catch (error) {
      if (isAway(error)) this.pausedUntilMs = this.nowMs() + PAUSE_MS;
      else this.answered();
      throw error;
    }
  }

  private answered(): void {
    const wasAway = this.isAway;
    this.pausedUntilMs = undefined;
    if (wasAway) this.onReturn();
  }
}

/** A database that answers may refuse to wait longer for the lock of one account. */
const isAway = (error: unknown): boolean => isUnavailable(error) && sqlstateOf(error) !== SQLSTATE.lockNotAvailable;
