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
