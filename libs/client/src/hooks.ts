import type { Call } from './sending.js';

/** One try of a call. */
export interface Attempt {
  /** The method of the client, a label of which there are few: `placeOrder`. */
  readonly operation: string;
  readonly method: string;
  /** Without its query. It holds ids. */
  readonly path: string;
  /** 1 for the first try. */
  readonly attempt: number;
  readonly workspaceId?: number | undefined;
  /** The same for all tries of one intent. */
  readonly idempotencyKey?: string | undefined;
}

/** How a try ended. */
export interface AttemptEnd extends Attempt {
  readonly durationMs: number;
  /** Of the answer, where there was a complete one. */
  readonly status?: number | undefined;
  /** Under which the service knows the request. */
  readonly requestId?: string | undefined;
  /** What kept the answer from coming. */
  readonly error?: unknown;
}

/** A pause, and then another try. */
export interface Retry extends Attempt {
  readonly pauseMs: number;
  /** Why the try before it was not enough. */
  readonly error: unknown;
}

/**
 * For logs, metrics and traces. Called in passing: nothing waits for them, and what one throws is not thrown into the
 * call, whose money may have moved, but to the platform as an uncaught error.
 */
export interface Hooks {
  readonly before?: ((attempt: Attempt) => void) | undefined;
  readonly after?: ((end: AttemptEnd) => void) | undefined;
  readonly retry?: ((retry: Retry) => void) | undefined;
}

export function attemptOf({ operation, method, path, workspaceId, idempotencyKey }: Call, attempt: number): Attempt {
  return { operation, method, path: `/${path.split('?', 1)[0]}`, attempt, workspaceId, idempotencyKey };
}

export function tell<E>(hook: ((event: E) => void) | undefined, event: E): void {
  try {
    hook?.(event);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
