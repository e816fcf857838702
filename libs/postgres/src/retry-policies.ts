import type { RetryPolicy } from './backoff.js';

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
