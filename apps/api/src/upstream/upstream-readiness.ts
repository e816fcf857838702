import { Refusal } from '@banking/domain';
import type { Readiness } from '../health/readiness.js';
import { upstreamFailure } from './upstream-failure.js';

/**
 * Ready while the upstream answers our credential.
 *
 * @param ask asks the upstream something that every credential may, and throws what the client throws
 */
export const upstreamReadiness = (ask: () => Promise<unknown>): Readiness => ({
  check: () => ask().then(() => undefined, explain),
});

/** Anybody may ask for this: it names no host, and nothing that was said there. What our own circuit says stays as it is. */
function explain(cause: unknown): never {
  const failure = upstreamFailure(cause, undefined);
  if (!failure) throw cause;
  const { answer, why, isCredential = false } = failure;
  const message = isCredential
    ? 'The upstream refuses our credential, or there is none.'
    : 'The upstream does not answer as it should.';
  throw new Refusal('unavailable', message, { retryAfterSeconds: answer.retryAfterSeconds, cause: new Error(why, { cause }) }); // prettier-ignore
}
