/** Delays between the tries of something that failed. */
export interface Backoff {
  /** The least delay. Default 0. */
  readonly minMs?: number;
  /** The upper bound of the first delay. It doubles with every failure. */
  readonly firstMs: number;
  /** The upper bound of every delay. */
  readonly maxMs: number;
}

/** Some tries, with delays between them. */
export interface RetryPolicy extends Backoff {
  /** Tries in total, the first included. */
  readonly triesMax: number;
}

/**
 * The delay after a number of failures in a row, with full jitter: any delay up to the bound is as likely, so that callers that failed
 * together do not retry together.
 *
 * @param failures from 1
 * @param random from 0 to below 1
 */
export function backoffMs({ minMs = 0, firstMs, maxMs }: Backoff, failures: number, random: number): number {
  const boundMs = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.max(minMs, Math.floor(random * boundMs));
}

/** What is retried after an error of the database. Work of the queue has a table of its own in `@banking/work-queue`. */
export const RETRY_POLICIES = {
  /** A database transaction that the server rolled back because of a conflict with another one. */
  conflict: { triesMax: 5, firstMs: 20, maxMs: 160 },
  /**
   * A change whose commit is in doubt. Its first retry is immediate. The delays before the others take 3.75 seconds on average, in
   * which a server can restart.
   */
  commitInDoubt: { triesMax: 6, minMs: 100, firstMs: 500, maxMs: 4_000 },
} as const satisfies Readonly<Record<string, RetryPolicy>>;

/** The interval at which a process tries to take the lock of the migrations, until it is free. */
export const MIGRATION_LOCK_POLL_MS = 100;
