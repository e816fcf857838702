import type { Logger } from 'pino';
import { Refusal, type WorkspaceId } from '@banking/domain';
import { circuitChannel } from '@banking/telemetry';

const FAILURES_MAX = 5;
const PROBE_AFTER_MS = 5_000;
/** A response 5xx within this time after another request succeeded is an error of that one request. */
const HEALTHY_FOR_MS = 5_000;

/** The part of a response that the circuit breaker reads. */
interface UpstreamResponse {
  readonly status: number;
}

/** The properties of a request that decide how its outcome counts. */
interface RequestKind {
  /** The workspace that the request names: a response 5xx may concern it alone. */
  readonly workspaceId?: WorkspaceId | undefined;
  /** Whether a success shows that requests of callers succeed. */
  readonly isOfCaller: boolean;
  /** Whether the request waited before it was sent: its timeout is then no failure of the upstream. */
  readonly hasWaited?: boolean;
}

/**
 * Stops sending to an upstream that fails: after five consecutive failures no request is sent for five seconds. Then one request probes
 * the upstream, and its outcome decides.
 *
 * Failures are broken and refused connections, timeouts and responses 5xx. Not counted are a 5xx while other requests succeed, the
 * timeout of a request that waited in the queue first, and requests that began before the circuit opened. A refusal such as 429 is no failure.
 * Responses 5xx to one workspace alone do not open the circuit, because a workspace gets 503 also while it waits for its own changes.
 */
export class CircuitBreaker {
  private failures = 0;
  /** What failed in a row: the workspaces that got a 5xx, and undefined for any other failure. */
  private readonly failing = new Set<WorkspaceId | undefined>();
  private openings = 0;
  /** Undefined while the circuit is closed. */
  private probeAtMs: number | undefined;
  private isProbing = false;
  private succeededAtMs = -Infinity;

  /** @param isUpstreamFailure whether an error is a failure of the upstream */
  constructor(
    private readonly isUpstreamFailure: (error: unknown) => boolean,
    private readonly log: Pick<Logger, 'error' | 'info'>,
  ) {}

  /**
   * Sends a request if the circuit is closed, or as the probe of an open circuit.
   *
   * @throws Refusal `unavailable` if nothing was sent; the error of the request
   */
  async run<T extends UpstreamResponse>(
    request: () => Promise<T>,
    { workspaceId, isOfCaller, hasWaited = false }: RequestKind,
  ): Promise<T> {
    this.refuseWhileOpen();
    this.isProbing = this.probeAtMs !== undefined;
    const { openings } = this;
    try {
      const response = await request();
      const isFailed = this.isFailedResponse(response, isOfCaller);
      this.count(openings, isFailed ? `status ${response.status}` : undefined, workspaceId);
      return response;
    } catch (error) {
      this.count(openings, this.isUpstreamFailure(error) && !hasWaited ? whyOf(error) : undefined);
      throw error;
    }
  }

  /** @throws Refusal `unavailable` if the circuit is open */
  refuseWhileOpen(): void {
    if (this.probeAtMs === undefined || (!this.isProbing && Date.now() >= this.probeAtMs)) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((this.probeAtMs - Date.now()) / 1000));
    throw new Refusal('unavailable', 'The upstream service has failed several times in a row.', { retryAfterSeconds });
  }

  /**
   * @param failure why the request has failed; undefined if it has not
   * @param workspaceId the workspace that the failure may concern alone
   */
  private count(openings: number, failure: string | undefined, workspaceId?: WorkspaceId): void {
    if (openings !== this.openings) return; // It began before the circuit opened.
    if (failure !== undefined) {
      this.failures += 1;
      this.failing.add(workspaceId);
      const isOfOneWorkspace = this.failing.size === 1 && workspaceId !== undefined;
      if (this.isProbing || (this.failures >= FAILURES_MAX && !isOfOneWorkspace)) this.open(failure);
      return;
    }
    this.failures = 0;
    this.failing.clear();
    if (this.probeAtMs === undefined) return;
    this.probeAtMs = undefined;
    this.isProbing = false;
    circuitChannel.publish({ state: 'closed' });
    this.log.info('circuit closed: the upstream responds again');
  }

  private open(why: string): void {
    this.openings += 1;
    this.isProbing = false;
    this.probeAtMs = Date.now() + PROBE_AFTER_MS;
    circuitChannel.publish({ state: 'open' });
    this.log.error(
      { why },
      `circuit open: the upstream fails, so nothing is sent for ${PROBE_AFTER_MS / 1000} seconds`,
    );
  }

  private isFailedResponse({ status }: UpstreamResponse, isOfCaller: boolean): boolean {
    if (status < 500 && isOfCaller) this.succeededAtMs = Date.now();
    return status >= 500 && Date.now() - this.succeededAtMs > HEALTHY_FOR_MS;
  }
}

/** The system's code of a connection error, which is free of personal data. */
function whyOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
