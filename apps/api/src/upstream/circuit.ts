import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhenResult } from 'cockatiel';
import type { Logger } from 'pino';
import { Refusal } from '@banking/domain';

const FAILURES_MAX = 5;
const PROBE_AFTER_MS = 5_000;
/** While one request is answered, that another one gets a 500 says something of that one. */
const WELL_FOR_MS = 5_000;

/** An answer of the upstream, as far as the circuit looks at it. */
interface Answer {
  readonly status: number;
}

/** What a request tells of the upstream by how it ends. */
interface Telling {
  /** Whether that it is served says that our callers are. */
  readonly isOfCaller: boolean;
  /** Whether some of its time had passed before it was sent: its time-out says nothing. */
  readonly hasWaited?: boolean;
}

type Outcome<T> = ({ readonly answer: T } | { readonly error: unknown }) & { readonly isFailure: boolean };

/**
 * Keeps an upstream in trouble from taking us with it: after five failures in a row nothing is sent for five seconds; then one request
 * tries, and decides. Failures are broken and refused connections, time-outs and answers 5xx; but not a 500 while others are served,
 * the time-out of a request that had to wait here first, and what began before the circuit opened: those say nothing of how the upstream
 * is now. A refusal, such as 429, is no failure.
 */
export class Circuit {
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
   * Carries a request out, unless nothing is sent at the moment.
   *
   * @throws Refusal `unavailable` for one that was not sent, and what the request itself throws
   */
  async run<T extends Answer>(request: () => Promise<T>, telling: Telling): Promise<T> {
    // Cockatiel would let others wait for the request that tries, and then send them all at once.
    this.refuseWhileOpen();
    const { isFailure: _, ...ended } = await this.attempt(request, telling);
    if ('error' in ended) throw ended.error;
    return ended.answer;
  }

  /** @throws Refusal `unavailable` while nothing is sent */
  refuseWhileOpen(): void {
    if (!this.isOpen) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((this.probeAtMs - Date.now()) / 1000));
    throw new Refusal('unavailable', 'What answers behind this gateway has failed several times in a row.', { retryAfterSeconds }); // prettier-ignore
  }

  private attempt<T extends Answer>(
    request: () => Promise<T>,
    { isOfCaller, hasWaited = false }: Telling,
  ): Promise<Outcome<T>> {
    const { openings } = this;
    const isNow = () => openings === this.openings;
    return this.breaker.execute(() =>
      request().then(
        (answer): Outcome<T> => ({ answer, isFailure: this.isTrouble(answer, isOfCaller) && isNow() }),
        (error: unknown): Outcome<T> => ({ error, isFailure: this.isTheirs(error) && !hasWaited && isNow() }),
      ),
    );
  }

  private isTrouble({ status }: Answer, isOfCaller: boolean): boolean {
    if (status < 500 && isOfCaller) this.servedAtMs = Date.now();
    return status > 500 || (status === 500 && Date.now() - this.servedAtMs > WELL_FOR_MS);
  }
}

/** The system's word for a broken connection, or the status: neither says anything of who asked for what. */
function whyOf(outcome: Outcome<Answer>): string {
  if ('answer' in outcome) return `it answered ${outcome.answer.status}`;
  const { code, name } = outcome.error as { readonly code?: unknown; readonly name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
