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
/** As long as one of our callers waits for a place; what is left of its time has to do for the upstream. */
const WAIT_MAX_MS = 1_000;
/** While one request is answered, that another one gets a 500 says something of that one. */
const WELL_FOR_MS = 5_000;

/** An answer of the upstream, as far as the circuit looks at it. */
interface Answer {
  readonly status: number;
}

type Outcome<T> = ({ readonly answer: T } | { readonly error: unknown }) & { readonly isFailure: boolean };

/**
 * Keeps an upstream in trouble from taking us with it: a bounded number of requests is on its way or waits, and after five failures
 * in a row nothing is sent for five seconds; then one request tries, and decides. Failures are broken and refused connections,
 * time-outs and answers 5xx; but not a 500 while others are served, the time-out of a request that had to wait here first, and what
 * began before the circuit opened: those say nothing of how the upstream is now.
 */
export class Circuit {
  private readonly places = bulkhead(CONCURRENT_MAX, WAITING_MAX);
  private readonly breaker = circuitBreaker(
    handleWhenResult((outcome) => (outcome as Outcome<Answer>).isFailure),
    { halfOpenAfter: PROBE_AFTER_MS, breaker: new ConsecutiveBreaker(FAILURES_MAX) },
  );
  private servedAtMs = -Infinity;
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
   * @param isTelling whether that it is served says that our callers are
   * @throws Refusal `unavailable` for one that was not sent, and what the request itself throws
   */
  async run<T extends Answer>(request: () => Promise<T>, signal: AbortSignal, isTelling = true): Promise<T> {
    this.refuseWhileOpen();
    const { isFailure: _, ...ended } =
      this.places.executionSlots > 0
        ? await this.places.execute(() => this.attempt(request, isTelling, false))
        : await this.inTurn(() => this.attempt(request, isTelling, true), signal);
    if ('error' in ended) throw ended.error;
    return ended.answer;
  }

  /** Waits for a place, but not for long: who is told so in time knows that nothing was sent. */
  private inTurn<T>(begin: () => Promise<Outcome<T>>, signal: AbortSignal): Promise<Outcome<T>> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const giveUp = () => {
        isOver = true;
        reject(tooMany());
      };
      const timer = setTimeout(giveUp, WAIT_MAX_MS);
      signal.addEventListener('abort', giveUp);
      const turn = async () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        if (!isOver) resolve(await begin());
      };
      this.places.execute(turn).catch((error: unknown) => {
        clearTimeout(timer);
        reject(error instanceof BulkheadRejectedError ? tooMany() : (error as Error));
      });
    });
  }

  /** Cockatiel would let others wait for the request that tries, and then send them all at once. */
  private attempt<T extends Answer>(
    request: () => Promise<T>,
    isTelling: boolean,
    hasWaited: boolean,
  ): Promise<Outcome<T>> {
    this.refuseWhileOpen();
    const { openings } = this;
    const isNow = () => openings === this.openings;
    return this.breaker.execute(() =>
      request().then(
        (answer): Outcome<T> => ({ answer, isFailure: this.isTrouble(answer, isTelling) && isNow() }),
        (error: unknown): Outcome<T> => ({ error, isFailure: this.isTheirs(error) && !hasWaited && isNow() }),
      ),
    );
  }

  private isTrouble({ status }: Answer, isTelling: boolean): boolean {
    if (status < 500 && isTelling) this.servedAtMs = Date.now();
    return status > 500 || (status === 500 && Date.now() - this.servedAtMs > WELL_FOR_MS);
  }

  private refuseWhileOpen(): void {
    if (!this.isOpen) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((this.probeAtMs - Date.now()) / 1000));
    throw new Refusal('unavailable', 'What answers behind this gateway has failed several times in a row.', { retryAfterSeconds }); // prettier-ignore
  }
}

function tooMany(): Refusal {
  return new Refusal('unavailable', 'Too many requests wait for an answer already.', { retryAfterSeconds: 1 });
}

/** The system's word for a broken connection, or the status: neither says anything of who asked for what. */
function whyOf(outcome: Outcome<Answer>): string {
  if ('answer' in outcome) return `it answered ${outcome.answer.status}`;
  const { code, name } = outcome.error as { readonly code?: unknown; readonly name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
