const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delays after the first attempt and each further one, in milliseconds: those that Standard Webhooks recommends. */
const RETRIES_MS: readonly number[] = [
  ...[5 * SECOND, 5 * MINUTE, 30 * MINUTE],
  ...[2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
];
/** A delay is longer or shorter by a fifth at most, so that retries of many deliveries spread. */
const JITTER = 0.2;

/** Consecutive failed attempts after which an endpoint counts as failing. */
export const FAILURES_MAX = 10;

/**
 * The delay after a failed attempt, in milliseconds; undefined after the last one.
 *
 * @param attempts how many were made, at least 1
 * @param random from 0 to below 1
 */
export function retryAfterMs(attempts: number, random: number): number | undefined {
  const delay = RETRIES_MS[attempts - 1];
  return delay === undefined ? undefined : Math.round(delay * (1 - JITTER + 2 * JITTER * random));
}
