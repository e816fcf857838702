import { Refusal } from '@banking/domain';
import { ConnectionError, RemoteRefusal } from './errors.js';
import type { Call } from './sending.js';

/** How many times a call is tried again when nothing is said. */
export const RETRIES_DEFAULT = 2;
export const RETRIES_MAX = 10;

const PAUSE_FIRST_MS = 200;
const PAUSE_MAX_MS = 5_000;

/** What the rules below ask of whatever ended a try. */
interface Failure {
  readonly status?: number;
  readonly reason?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** Whether doing it twice is doing it once: reads, and what carries a key by which the service knows it again. */
const isRepeatable = ({ method, idempotencyKey }: Call) => method === 'GET' || idempotencyKey !== undefined;

/** Whether a try that ended so may be followed by another one. */
export function mayTryAgain(call: Call, failure: unknown): boolean {
  if (failure instanceof ConnectionError) return failure.neverSent || isRepeatable(call);
  const { status = 200, reason } = failure as Failure;
  // Turned away at the door: whatever it was, it was not carried out.
  if (status === 429) return true;
  return isRepeatable(call) && (status >= 500 || status === 408 || reason === 'idempotency_in_progress');
}

/** Whether a try that ended so may have been carried out. A success that cannot be read may be one all the same. */
export function leavesDoubt(call: Call, failure: unknown): boolean {
  if (call.method === 'GET') return false;
  if (failure instanceof ConnectionError) return !failure.neverSent;
  // Made here, by what sends: nothing was sent.
  if (failure instanceof Refusal && !(failure instanceof RemoteRefusal)) return false;
  const { status } = failure as Failure;
  return status !== undefined && (status >= 500 || (status >= 200 && status < 300));
}

/**
 * Whether a later try that ended so settles what became of an earlier one with the same key: the service looks for the
 * key before it looks at the business, so that a no of the business (422) says that nothing was found.
 */
export const settles = (failure: unknown) => (failure as Failure).status === 422;

/**
 * How long to wait before the next try: at least as long as the service asks for, and then half to all of a time that
 * doubles with every try, so that those who failed together do not come back together.
 *
 * @param tries how many there have been
 * @param random 0 to 1
 */
export function pauseMs(tries: number, failure: unknown, random: number): number {
  const { retryAfterSeconds = 0 } = failure as Failure;
  const backoffMs = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** (tries - 1));
  return Math.round(retryAfterSeconds * 1000 + backoffMs * (0.5 + random / 2));
}

/** A key for an intent whose caller gave none. Made of what pages without TLS have too. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
