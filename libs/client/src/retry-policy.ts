import { ApprovalPending } from '@banking/domain';
import { ConnectionError, RemoteRefusal } from './errors.js';
import type { Call } from './transport.js';

/** The number of retries of a call if the caller sets none. */
export const RETRIES_DEFAULT = 2;
export const RETRIES_MAX = 10;

const PAUSE_FIRST_MS = 200;
const PAUSE_MAX_MS = 5_000;

/** How an attempt failed: the error, and the status if a complete response arrived. */
interface Failure {
  readonly error: unknown;
  readonly status: number | undefined;
}

/** What follows from a failed attempt. */
interface Rule {
  readonly matches: (failure: Failure) => boolean;
  /** `repeatable`: only a read, a replacement, or a call with an idempotency key. */
  readonly retry: 'always' | 'repeatable' | 'never';
  /** Whether the service may have executed the request. */
  readonly mayBeExecuted: boolean;
}

/** The retry policy. The first row that matches decides. A failure without a row is final. */
const RULES: readonly Rule[] = [
  // The request is stored, and waits.
  { matches: ({ error }) => error instanceof ApprovalPending, retry: 'never', mayBeExecuted: false },
  // Nothing was sent.
  {
    matches: ({ error }) => error instanceof ConnectionError && error.neverSent,
    retry: 'always',
    mayBeExecuted: false,
  },
  // The response did not arrive completely.
  { matches: ({ error }) => error instanceof ConnectionError, retry: 'repeatable', mayBeExecuted: true },
  // The token function failed.
  { matches: ({ status }) => status === undefined, retry: 'never', mayBeExecuted: false },
  { matches: ({ status }) => status === 429, retry: 'always', mayBeExecuted: false },
  // Any other 503 may come from a proxy that lost the response of the service.
  { matches: (failure) => failure.status === 503 && isUnavailable(failure), retry: 'always', mayBeExecuted: false },
  { matches: ({ status = 0 }) => status >= 500, retry: 'repeatable', mayBeExecuted: true },
  { matches: ({ status }) => status === 408, retry: 'repeatable', mayBeExecuted: false },
  // The earlier request with the key may still succeed.
  { matches: (failure) => isInProgress(failure), retry: 'repeatable', mayBeExecuted: true },
  // A success that cannot be read is a success all the same.
  { matches: ({ status = 0 }) => status >= 200 && status < 300, retry: 'never', mayBeExecuted: true },
];
const OTHERWISE = { retry: 'never', mayBeExecuted: false } as const;

function isUnavailable({ error }: Failure): boolean {
  return error instanceof RemoteRefusal && error.reason === 'unavailable';
}

function isInProgress({ error }: Failure): boolean {
  return (error as { readonly reason?: string } | undefined)?.reason === 'idempotency_in_progress';
}

function ruleFor(error: unknown, status: number | undefined): Omit<Rule, 'matches'> {
  return RULES.find(({ matches }) => matches({ error, status })) ?? OTHERWISE;
}

/** Methods that have the same effect once and several times (RFC 9110 section 9.2.2). */
const REPEATABLE: readonly Call['method'][] = ['GET', 'PUT'];

/**
 * Whether another attempt may follow a failed one.
 *
 * @param status of the response, if one arrived
 */
export function mayRetry({ method, idempotencyKey }: Call, error: unknown, status: number | undefined): boolean {
  const { retry } = ruleFor(error, status);
  return (
    retry === 'always' || (retry === 'repeatable' && (REPEATABLE.includes(method) || idempotencyKey !== undefined))
  );
}

/**
 * Whether a failed attempt may have changed something. A later refusal does not undo this: the first attempt may still
 * be on its way, and finds its key unused.
 */
export function mayBeExecuted({ method }: Call, error: unknown, status: number | undefined): boolean {
  return method !== 'GET' && ruleFor(error, status).mayBeExecuted;
}

/**
 * The pause before the next attempt, in milliseconds: the `Retry-After` of the service, plus a back-off that doubles
 * with every attempt. The jitter takes up to half of the back-off, so that clients that failed together retry apart.
 *
 * @param attempts so far
 * @param random 0 to 1
 */
export function pauseMs(attempts: number, error: unknown, random: number): number {
  const { retryAfterSeconds = 0 } = (error ?? {}) as { readonly retryAfterSeconds?: number };
  const backoffMs = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** (attempts - 1));
  return Math.round(retryAfterSeconds * 1000 + backoffMs * (0.5 + random / 2));
}

/** The calls of each caller's signal. They share one listener, because Node warns of a leak at eleven. */
const callsOf = new WeakMap<AbortSignal, Set<Deadline>>();

function abortCalls(this: AbortSignal): void {
  callsOf.get(this)?.forEach((call) => call.abort(this.reason));
}

/** The deadline of one call with all attempts and pauses. The signal of the caller can end it earlier. */
export class Deadline {
  timedOut = false;
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  readonly #endsAtMs: number;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #callerSignal: AbortSignal | undefined;
  #reject = () => {};

  constructor(
    readonly timeoutMs: number,
    callerSignal: AbortSignal | undefined,
  ) {
    this.#endsAtMs = performance.now() + timeoutMs;
    this.#callerSignal = callerSignal;
    if (callerSignal) {
      const calls = callsOf.get(callerSignal) ?? new Set();
      callsOf.set(callerSignal, calls.add(this));
      if (calls.size === 1) callerSignal.addEventListener('abort', abortCalls);
    }
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.abort(new DOMException('The deadline passed.', 'TimeoutError'));
    }, timeoutMs);
  }

  /** Aborts the signal, and rejects the promise of `within`. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.#reject();
  }

  /** Whether time is left after a pause of this length. */
  allows(pauseMs: number): boolean {
    return !this.signal.aborted && performance.now() + pauseMs < this.#endsAtMs;
  }

  /** Waits for one promise until the deadline. @throws the reason of the abort */
  within<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      this.#reject = () => reject(signal.reason);
      if (signal.aborted) this.#reject();
      Promise.resolve(promise).then(resolve, reject);
    });
  }

  /** @returns whether time is left after the pause */
  async pause(ms: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await this.within(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))).catch(() =>
      clearTimeout(timer),
    );
    return !this.signal.aborted;
  }

  /** Releases the timer and the listener on the signal of the caller, which may live on. */
  dispose(): void {
    clearTimeout(this.#timer);
    const calls = this.#callerSignal && callsOf.get(this.#callerSignal);
    if (calls?.delete(this) && calls.size === 0) this.#callerSignal?.removeEventListener('abort', abortCalls);
  }
}
