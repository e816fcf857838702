import { ConnectionError, RemoteRefusal } from './errors.js';
import type { Call } from './sending.js';

/** How many times a call is tried again when nothing is said. */
export const RETRIES_DEFAULT = 2;
export const RETRIES_MAX = 10;

const PAUSE_FIRST_MS = 200;
const PAUSE_MAX_MS = 5_000;

/** What the rules below ask of an error that an answer was read as. */
interface Refused {
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
}

/** Whether doing it twice is doing it once: reads, and what carries a key by which the service knows it again. */
const isRepeatable = ({ method, idempotencyKey }: Call) => method === 'GET' || idempotencyKey !== undefined;

/**
 * Whether the answer proves that nothing was done: 429, and a 503 whose body gives the reason `unavailable`. Any other 503 may come
 * from a proxy that has lost the answer of the service.
 */
const provesUndone = (failure: unknown, status: number | undefined) =>
  status === 429 || (status === 503 && failure instanceof RemoteRefusal && failure.reason === 'unavailable');

/**
 * Whether a try that ended so may be followed by another one.
 *
 * @param status of the answer, where there was one: what a token function throws has nothing to say about the service
 */
export function mayTryAgain(call: Call, failure: unknown, status: number | undefined): boolean {
  if (failure instanceof ConnectionError) return failure.neverSent || isRepeatable(call);
  if (status === undefined) return false;
  if (provesUndone(failure, status)) return true;
  return (
    isRepeatable(call) && (status >= 500 || status === 408 || (failure as Refused).reason === 'idempotency_in_progress')
  );
}

/**
 * Whether a try that ended so may have been carried out. A success that cannot be read may be one all the same. Once
 * there is doubt, no refusal of a later try lifts it: the earlier one may still be on its way, and finds its key free.
 */
export function leavesDoubt(call: Call, failure: unknown, status = 0): boolean {
  if (call.method === 'GET') return false;
  if (failure instanceof ConnectionError) return !failure.neverSent;
  return (status >= 500 && !provesUndone(failure, status)) || (status >= 200 && status < 300);
}

/**
 * How long to wait before the next try: at least as long as the service asks for, and then half to all of a time that
 * doubles with every try, so that those who failed together do not come back together.
 *
 * @param tries how many there have been
 * @param random 0 to 1
 */
export function pauseMs(tries: number, failure: unknown, random: number): number {
  const { retryAfterSeconds = 0 } = (failure ?? {}) as Refused;
  const backoffMs = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** (tries - 1));
  return Math.round(retryAfterSeconds * 1000 + backoffMs * (0.5 + random / 2));
}

/** A key for an intent whose caller gave none. Made of what pages without TLS have too. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join('');
}
