import type { Call } from './transport.js';

/** One attempt of a call. */
export interface Attempt {
  /** The method of the client: `placeOrder`. It has few values, so it can label a metric. */
  readonly operation: string;
  readonly method: string;
  /** Without its query. It contains ids. */
  readonly path: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly workspaceId?: number | undefined;
  /** The same for all attempts of one call. */
  readonly idempotencyKey?: string | undefined;
}

/** The end of an attempt. */
export interface AttemptEnd extends Attempt {
  readonly durationMs: number;
  /** The status of the response, if it arrived completely. */
  readonly status?: number | undefined;
  /** The id of the request at the service. */
  readonly requestId?: string | undefined;
  /** The failure, if no complete response arrived. */
  readonly error?: unknown;
}

/** A pause before another attempt. */
export interface Retry extends Attempt {
  readonly pauseMs: number;
  /** The failure of the previous attempt. */
  readonly error: unknown;
}

/**
 * Hooks for logs, metrics and traces. The call does not wait for them. An error of a hook becomes an uncaught error of the
 * platform and does not end the call, because its money may have moved.
 */
export interface Hooks {
  readonly before?: ((attempt: Attempt) => void) | undefined;
  readonly after?: ((end: AttemptEnd) => void) | undefined;
  readonly retry?: ((retry: Retry) => void) | undefined;
}

export function attemptOf({ operation, method, path, workspaceId, idempotencyKey }: Call, attempt: number): Attempt {
  return { operation, method, path: `/${path.split('?', 1)[0]}`, attempt, workspaceId, idempotencyKey };
}

export function callHook<E>(hook: ((event: E) => void) | undefined, event: E): void {
  try {
    hook?.(event);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
