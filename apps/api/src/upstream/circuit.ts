import {
  bulkhead,
  BulkheadRejectedError,
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  handleWhenResult,
} from 'cockatiel';
import type { Logger } from 'pino';
import { Refusal } from '@banking/domain';

/** Requests on their way at once: one for each connection. */
export const CONCURRENT_MAX = 64;
/** Requests that wait for one of those. */
const WAITING_MAX = 256;
const FAILURES_MAX = 5;
const PROBE_AFTER_MS = 5_000;

/** An answer of the upstream, as far as the circuit looks at it. */
interface Answer {
  readonly status: number;
}

type Outcome<T> = ({ readonly answer: T } | { readonly error: unknown }) & { readonly isFailure: boolean };

/**
 * Keeps an upstream in trouble from taking us with it: a bounded number of requests is on its way or waits, and after five failures
 * in a row nothing is sent for five seconds; then one request tries, and decides. Failures are broken and refused connections,
 * time-outs and answers 5xx. A request that began before the circuit opened says nothing of how the upstream is now.
 */
export class Circuit {
  private readonly places = bulkhead(CONCURRENT_MAX, WAITING_MAX);
  private readonly breaker = circuitBreaker(
    handleWhenResult((outcome) => (outcome as Outcome<Answer>).isFailure),
    { halfOpenAfter: PROBE_AFTER_MS, breaker: new ConsecutiveBreaker(FAILURES_MAX) },
  );
  private openings = 0;
  private probeAtMs = 0;

  /** @param isTheirs whether an error says that the upstream is in trouble */
  constructor(
    private readonly isTheirs: (error: unknown) => boolean,
    log: Pick<Logger, 'error' | 'info'>,
  ) {
    this.breaker.onBreak((reason) => {
      this.openings += 1;
      this.probeAtMs = Date.now() + PROBE_AFTER_MS;
      const why = 'value' in reason ? whyOf(reason.value as Outcome<Answer>) : undefined;
      log.error({ why }, `the upstream fails: nothing is sent there for ${PROBE_AFTER_MS / 1000} seconds`);
    });
    this.breaker.onReset(() => log.info('the upstream answers again'));
  }

  /** Whether nothing is sent at the moment. */
  private get isOpen(): boolean {
    const { state } = this.breaker;
    return state === CircuitState.HalfOpen || (state === CircuitState.Open && Date.now() < this.probeAtMs);
  }

  /**
   * Carries a request out, when it is its turn.
   *
   * @throws Refusal `unavailable` for one that was not sent, and what the request itself throws
   */
  async run<T extends Answer>(request: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.refuseWhileOpen();
    const mustWait = this.places.executionSlots === 0;
    const outcome = this.places.execute(() => this.attempt(request), signal).catch(explainRejection);
    const { isFailure: _, ...ended } = await (mustWait ? unlessAborted(outcome, signal) : outcome);
    if ('error' in ended) throw ended.error;
    return ended.answer;
  }

  /** Cockatiel would let others wait for the request that tries, and then send them all at once. */
  private attempt<T extends Answer>(request: () => Promise<T>): Promise<Outcome<T>> {
    this.refuseWhileOpen();
    const { openings } = this;
    const isNow = () => openings === this.openings;
    return this.breaker.execute(() =>
      request().then(
        (answer): Outcome<T> => ({ answer, isFailure: answer.status >= 500 && isNow() }),
        (error: unknown): Outcome<T> => ({ error, isFailure: this.isTheirs(error) && isNow() }),
      ),
    );
  }

  private refuseWhileOpen(): void {
    if (!this.isOpen) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((this.probeAtMs - Date.now()) / 1000));
    throw new Refusal('unavailable', 'What answers behind this gateway has failed several times in a row.', { retryAfterSeconds }); // prettier-ignore
  }
}

function explainRejection(error: unknown): never {
  if (!(error instanceof BulkheadRejectedError)) throw error;
  throw new Refusal('unavailable', 'Too many requests wait for an answer already.', { retryAfterSeconds: 1 });
}

/** The bulkhead finds out only when a place is free. */
function unlessAborted<T>(outcome: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason as Error);
    signal.addEventListener('abort', give, { once: true });
    outcome.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
  });
}

/** The system's word for a broken connection, or the status: neither says anything of who asked for what. */
function whyOf(outcome: Outcome<Answer>): string {
  if ('answer' in outcome) return `it answered ${outcome.answer.status}`;
  const { code, name } = outcome.error as { readonly code?: unknown; readonly name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
