import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhenResult } from 'cockatiel';
import type { Logger } from 'pino';
import { Refusal } from '@banking/domain';
import { circuitChannel } from '@banking/telemetry';

const FAILURES_MAX = 5;
const PROBE_AFTER_MS = 5_000;
/** A 500 within this time after another request succeeded is an error of that one request. */
const HEALTHY_FOR_MS = 5_000;

/** The part of a response that the circuit breaker reads. */
interface UpstreamResponse {
  readonly status: number;
}

/** The properties of a request that decide how its outcome counts. */
interface RequestKind {
  /** Whether a success shows that requests of callers succeed. */
  readonly isOfCaller: boolean;
  /** Whether the request waited before it was sent: its timeout is then no failure of the upstream. */
  readonly hasWaited?: boolean;
}

type Outcome<T> = ({ readonly response: T } | { readonly error: unknown }) & { readonly isFailure: boolean };

/**
 * Stops sending to an upstream that fails: after five consecutive failures no request is sent for five seconds. Then one request probes
 * the upstream, and its outcome decides.
 *
 * Failures are broken and refused connections, timeouts and responses 5xx. Not counted are a 500 while other requests succeed, the
 * timeout of a request that waited in the queue first, and requests that began before the circuit opened. A refusal such as 429 is no failure.
 */
export class CircuitBreaker {
  private readonly breaker = circuitBreaker(
    handleWhenResult((outcome) => (outcome as Outcome<UpstreamResponse>).isFailure),
    { halfOpenAfter: PROBE_AFTER_MS, breaker: new ConsecutiveBreaker(FAILURES_MAX) },
  );
  private succeededAtMs = -Infinity;
  private openings = 0;
  private probeAtMs = 0;

  /** @param isUpstreamFailure whether an error is a failure of the upstream */
  constructor(
    private readonly isUpstreamFailure: (error: unknown) => boolean,
    log: Pick<Logger, 'error' | 'info'>,
  ) {
    this.breaker.onBreak((reason) => {
      this.openings += 1;
      this.probeAtMs = Date.now() + PROBE_AFTER_MS;
      circuitChannel.publish({ state: 'open' });
      const why = 'value' in reason ? whyOf(reason.value as Outcome<UpstreamResponse>) : undefined;
      log.error({ why }, `circuit open: the upstream fails, so nothing is sent for ${PROBE_AFTER_MS / 1000} seconds`);
    });
    this.breaker.onReset(() => {
      circuitChannel.publish({ state: 'closed' });
      log.info('circuit closed: the upstream responds again');
    });
  }

  /** Whether no request may be sent now. */
  private get isOpen(): boolean {
    const { state } = this.breaker;
    return state === CircuitState.HalfOpen || (state === CircuitState.Open && Date.now() < this.probeAtMs);
  }

  /**
   * Sends a request if the circuit is closed, or as the probe of an open circuit.
   *
   * @throws Refusal `unavailable` if nothing was sent; the error of the request
   */
  async run<T extends UpstreamResponse>(request: () => Promise<T>, kind: RequestKind): Promise<T> {
    // Cockatiel would let other requests wait for the probe and then send all of them at once.
    this.refuseWhileOpen();
    const { isFailure: _, ...outcome } = await this.attempt(request, kind);
    if ('error' in outcome) throw outcome.error;
    return outcome.response;
  }

  /** @throws Refusal `unavailable` if the circuit is open */
  refuseWhileOpen(): void {
    if (!this.isOpen) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((this.probeAtMs - Date.now()) / 1000));
    throw new Refusal('unavailable', 'The upstream service has failed several times in a row.', { retryAfterSeconds });
  }

  private attempt<T extends UpstreamResponse>(
    request: () => Promise<T>,
    { isOfCaller, hasWaited = false }: RequestKind,
  ): Promise<Outcome<T>> {
    const { openings } = this;
    const isCurrent = () => openings === this.openings;
    return this.breaker.execute(() =>
      request().then(
        (response): Outcome<T> => ({
          response,
          isFailure: this.isFailedResponse(response, isOfCaller) && isCurrent(),
        }),
        (error: unknown): Outcome<T> => ({
          error,
          isFailure: this.isUpstreamFailure(error) && !hasWaited && isCurrent(),
        }),
      ),
    );
  }

  private isFailedResponse({ status }: UpstreamResponse, isOfCaller: boolean): boolean {
    if (status < 500 && isOfCaller) this.succeededAtMs = Date.now();
    return status > 500 || (status === 500 && Date.now() - this.succeededAtMs > HEALTHY_FOR_MS);
  }
}

/** The system's code of a connection error, or the status. Both are free of personal data. */
function whyOf(outcome: Outcome<UpstreamResponse>): string {
  if ('response' in outcome) return `status ${outcome.response.status}`;
  const { code, name } = outcome.error as { readonly code?: unknown; readonly name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
