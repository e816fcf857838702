import { Refusal } from '@banking/domain';
import type { Readiness } from '../health/readiness.js';
import { upstreamFailure } from './upstream-failure.js';

/**
 * Ready while the upstream responds to our credential.
 *
 * @param check calls the upstream, and throws the client's error
 */
export const upstreamReadiness = (check: () => Promise<unknown>): Readiness => ({
  check: () => check().then(() => undefined, explain),
});

/** The health check is public, so its response names no host and no text of the upstream. A refusal of our circuit breaker is kept. */
function explain(cause: unknown): never {
  const failure = upstreamFailure(cause, undefined);
  if (!failure) throw cause;
  const { response, why, needsOperator = false } = failure;
  const message = needsOperator
    ? 'The upstream refuses our credential, or there is none.'
    : 'The upstream service failed or returned an invalid response.';
  throw new Refusal('unavailable', message, {
    retryAfterSeconds: response.retryAfterSeconds,
    cause: new Error(why, { cause }),
  });
}
