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
