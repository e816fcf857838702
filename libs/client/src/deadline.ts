/** The calls under a caller's signal. They share a listener: eleven of them Node takes for a leak, and says so. */
const callsUnder = new WeakMap<AbortSignal, Set<Deadline>>();

function endCalls(this: AbortSignal): void {
  callsUnder.get(this)?.forEach((call) => call.endWith(this.reason));
}

/** The time one call has, for all its tries and the pauses between them, or less when its caller gives up. */
export class Deadline {
  timedOut = false;
  readonly #ending = new AbortController();
  readonly #endsAtMs: number;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #outer: AbortSignal | undefined;
  #stop = () => {};

  constructor(
    readonly timeoutMs: number,
    outer: AbortSignal | undefined,
  ) {
    this.#endsAtMs = performance.now() + timeoutMs;
    this.#outer = outer;
    if (outer) {
      const calls = callsUnder.get(outer) ?? new Set();
      callsUnder.set(outer, calls.add(this));
      if (calls.size === 1) outer.addEventListener('abort', endCalls);
    }
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.endWith(new DOMException('The time is over.', 'TimeoutError'));
    }, timeoutMs);
  }

  /** Ends what goes on under its signal, and what is waited for. */
  endWith(reason: unknown): void {
    this.#ending.abort(reason);
    this.#stop();
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Whether there is still time after a pause of this length. */
  leaves(pauseMs: number): boolean {
    return !this.signal.aborted && performance.now() + pauseMs < this.#endsAtMs;
  }

  /** Waits for it as long as there is time; for one thing at a time. @throws what the time was ended with */
  within<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      this.#stop = () => reject(signal.reason);
      if (signal.aborted) this.#stop();
      Promise.resolve(promise).then(resolve, reject);
    });
  }

  /** @returns whether there is still time afterwards */
  async pause(ms: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await this.within(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))).catch(() =>
      clearTimeout(timer),
    );
    return !this.signal.aborted;
  }

  /** Lets go of the timer and of the caller's signal, which may live on. */
  end(): void {
    clearTimeout(this.#timer);
    const calls = this.#outer && callsUnder.get(this.#outer);
    if (calls?.delete(this) && calls.size === 0) this.#outer?.removeEventListener('abort', endCalls);
  }
}
