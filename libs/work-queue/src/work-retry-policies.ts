import type { Backoff, RetryPolicy } from '@banking/postgres';

/** Failed tries after which work is parked. Transient failures do not count. */
export const TRIES_MAX = 10;

/** What a worker tries again. The delays have full jitter (`backoffMs`). */
export const WORK_RETRY_POLICIES = {
  /** A piece of work that failed. A transient failure has the same delays, without a limit of tries. */
  work: { triesMax: TRIES_MAX, minMs: 100, firstMs: 2_000, maxMs: 900_000 },
  /** The claim of due work, while the database cannot serve. */
  claim: { minMs: 100, firstMs: 500, maxMs: 5_000 },
  /** A chore that failed, such as receiving the events of the network. */
  chore: { minMs: 100, firstMs: 500, maxMs: 60_000 },
} as const satisfies Readonly<Record<string, Backoff | RetryPolicy>>;

/** The interval at which a worker without work polls the queue. A chore may have an interval of its own. */
export const IDLE_MS = 250;
/** How often a worker renews its leases of 30 seconds. */
export const HEARTBEAT_MS = 10_000;
