import type { RetryPolicy } from './backoff.js';

/** What this package tries again. Work of the queue has a table of its own in `@banking/work-queue`. */
export const RETRY_POLICIES = {
  /** A database transaction that the server rolled back because of a conflict with another one. */
  conflict: { triesMax: 5, firstMs: 20, maxMs: 160 },
} as const satisfies Readonly<Record<string, RetryPolicy>>;

/** How often a process asks whether another one still migrates. It asks until the lock is free. */
export const MIGRATION_LOCK_POLL_MS = 100;
