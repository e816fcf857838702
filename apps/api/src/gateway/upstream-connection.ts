import { randomUUID } from 'node:crypto';
import { Agent, errors } from 'undici';
import type { Logger } from 'pino';
import type { TransportRequest, Transport } from '@banking/client';
import { Refusal } from '@banking/domain';
import { upstreamChannel } from '@banking/telemetry';
import type { TraceHeaders } from '@banking/telemetry/tracing';
import { CircuitBreaker } from './circuit-breaker.js';
import { exchange } from './exchange.js';
import { CONCURRENT_MAX, RequestQueue } from './request-queue.js';

/** Connections for our own requests only, so that requests of callers cannot block the read of the user lists. */
const OWN_CONNECTIONS = 8;

/** The connections and bytes that an upstream may occupy, and for how long. The client limits the time of a whole response. */
const LIMITS = {
  connections: CONCURRENT_MAX + OWN_CONNECTIONS,
  connectTimeoutMs: 2_000,
  responseBytes: 16 * 1024 * 1024,
  // undici keeps a connection as long as the upstream announces, less two seconds, and else for the first time.
  idleTimeoutMs: 4_000,
  idleTimeoutMaxMs: 60_000,
} as const;

const AGENT_OPTIONS: Agent.Options = {
  connect: { timeout: LIMITS.connectTimeoutMs },
  keepAliveTimeout: LIMITS.idleTimeoutMs,
  keepAliveMaxTimeout: LIMITS.idleTimeoutMaxMs,
  maxResponseSize: LIMITS.responseBytes,
  headersTimeout: 0,
  bodyTimeout: 0,
};

/** Returns the headers by which the upstream continues the trace of a request, if there is one. */
export type TraceContextSource = (requestId: string | undefined) => TraceHeaders | undefined;

/** How long a request may wait in the queue: a fixed time, and a part of the time the upstream may take. */
const WAIT_MAX = { ms: 2_000, part: 0.5 };

/**
 * Sends requests to the upstream: over persistent connections, through a queue that shares them between callers and through a circuit
 * breaker. Every request names this gateway. Our own requests, which have no actor, bypass the queue.
 */
export class UpstreamConnection {
  /** The name of this process in `Via` (RFC 9110, section 7.6.3). A request that arrives with it has gone in a loop. */
  readonly name = `gateway-${randomUUID()}`;
  private readonly circuit: CircuitBreaker;
  private readonly agent = new Agent({ ...AGENT_OPTIONS, connections: LIMITS.connections });

  /** Connections of their own, because a held request occupies one for a long time. */
  private readonly heldAgent = new Agent({ ...AGENT_OPTIONS, connections: CONCURRENT_MAX });
  private readonly queue: RequestQueue;
  private readonly heldQueue: RequestQueue;

  /** @param timeoutMs for one request, its time in the queue included */
  constructor(
    timeoutMs: number,
    log: Pick<Logger, 'error' | 'info'>,
    private readonly traceContext: TraceContextSource = () => undefined,
  ) {
    this.circuit = new CircuitBreaker((error) => !isTooLarge(error) && !isDisconnect(error), log);
    const waitMaxMs = Math.min(WAIT_MAX.ms, timeoutMs * WAIT_MAX.part);
    this.queue = new RequestQueue(waitMaxMs);
    this.heldQueue = new RequestQueue(waitMaxMs);
  }

  /** The transport of the client. It decompresses nothing, follows no redirect and repeats no request. */
  readonly transport: Transport = async (url, sending) => {
    const { actor, workspaceId = '', method, holdMs } = sending.call;
    const send = () => this.sendTraced(url, sending);
    if (actor === undefined) return this.circuit.run(send, { isOfCaller: false });
    this.circuit.refuseWhileOpen();
    // A deployment of ours limits orders apart from other requests of a workspace, so reads and changes pause separately.
    const limitKey = `${workspaceId} ${method === 'GET' ? 'reads' : 'changes'}`;
    const queue = holdMs === undefined ? this.queue : this.heldQueue;
    return queue.run({ actor, limitKey }, sending.signal, async (hasWaited) => {
      const response = await this.circuit.run(send, { isOfCaller: true, hasWaited });
      if (response.status === 429) queue.pause(limitKey);
      return response;
    });
  };

  /** Sends no requests of callers until `work` is done, so that they do not use up a rate limit of the upstream. */
  holdCallersDuring<T>(work: () => Promise<T>): Promise<T> {
    return this.queue.holdDuring(work);
  }

  private sendTraced(url: URL, sending: TransportRequest) {
    if (!upstreamChannel.hasSubscribers) return this.send(url, sending);
    const { operation, method, actor } = sending.call;
    const message = { operation, method, isOfCaller: actor !== undefined };
    return upstreamChannel.tracePromise(() => this.send(url, sending), message);
  }

  private async send(url: URL, { method, headers, body, signal, call }: TransportRequest) {
    const sent = { ...headers, ...this.traceContext(headers['X-Request-Id']), Via: `1.1 ${this.name}` };
    const response = await exchange(call.holdMs === undefined ? this.agent : this.heldAgent, url, {
      method,
      headers: sent,
      body,
      signal,
    });
    return {
      status: response.status,
      headers: { get: (name: string) => valueOf(response.headers[name.toLowerCase()]) },
      arrayBuffer: () => Promise.resolve(response.bytes),
    };
  }

  /** Waits for pending requests. */
  async close(): Promise<void> {
    await Promise.all([this.agent.close(), this.heldAgent.close()]);
  }
}

const valueOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : (value ?? null));

/** The gateway itself aborted the request, because its caller has disconnected or it was withdrawn. */
const isDisconnect = (error: unknown): boolean => error instanceof Refusal;

/** A response over our limit is no failure of the upstream: a request for less succeeds. */
const isTooLarge = (error: unknown): boolean => error instanceof errors.ResponseExceededMaxSizeError;
