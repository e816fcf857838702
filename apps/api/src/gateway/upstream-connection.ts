import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import { Agent, type Dispatcher, errors } from 'undici';
import type { Transport, TransportRequest } from '@banking/client';
import { Refusal, type UserId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import { upstreamChannel } from '@banking/telemetry';
import type { TraceHeaders } from '@banking/telemetry/tracing';
import { FairQueue, type Turn } from '../http/fair-queue.js';
import { CircuitBreaker } from './circuit-breaker.js';

interface ExchangedRequest extends Pick<TransportRequest, 'method' | 'headers' | 'signal'> {
  readonly body?: string | undefined;
}

export interface ExchangedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: ArrayBuffer;
}

/**
 * Sends a request and collects its whole response. `request` of undici makes a stream of each body, which costs more than the few
 * chunks of a response.
 *
 * @throws the reason of the signal; the error of undici
 */
export function exchange(dispatcher: Dispatcher, url: URL, request: ExchangedRequest): Promise<ExchangedResponse> {
  const { method, headers, body = null, signal } = request;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const options = { origin: url.origin, path: url.pathname + url.search, method, headers, body };
    dispatcher.dispatch(options, new Exchange(signal, resolve, reject));
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private readonly chunks: Buffer[] = [];
  private readonly abort = () => this.controller?.abort(this.signal.reason as Error);

  constructor(
    private readonly signal: AbortSignal,
    private readonly resolve: (response: ExchangedResponse) => void,
    private readonly reject: (error: Error) => void,
  ) {
    signal.addEventListener('abort', this.abort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // It may have been aborted while it waited for a connection.
    if (this.signal.aborted) this.abort();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // A status below 200 is informational: the response follows.
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.signal.removeEventListener('abort', this.abort);
    this.resolve({ status: this.status, headers: this.headers, bytes: joined(this.chunks) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.signal.removeEventListener('abort', this.abort);
    this.reject(error);
  }
}

function joined(chunks: readonly Buffer[]): ArrayBuffer {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let end = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, end);
    end += chunk.length;
  }
  return bytes.buffer;
}

/** Concurrent requests of callers: one for each connection. */
export const CONCURRENT_MAX = 64;
/** Requests of callers that may wait. */
const WAITING_MAX = 256;
/** How long requests with one limit key are not sent after the upstream has responded 429. */
const PAUSE_MS = 1_000;

interface Queued {
  readonly actor: UserId;
  /** Requests with one key count against one rate limit of the upstream. */
  readonly limitKey: string;
}

/**
 * Shares the connections to the upstream between callers: round-robin, one request of each caller. No caller can take all slots, see
 * {@link FairSlots}. A request that waits too long is refused without having been sent.
 */
export class RequestQueue {
  private readonly queue: FairQueue<UserId>;
  private readonly paused = new Set<string>();
  private holds = 0;

  constructor(waitMaxMs: number) {
    this.queue = new FairQueue({
      running: new FairSlots(CONCURRENT_MAX),
      waiting: new FairSlots(WAITING_MAX),
      waitMaxMs,
      waitsFor: 'a connection to the upstream service',
      ofOneKey: 'of your requests',
    });
  }

  /**
   * Sends a request when its turn comes.
   *
   * @param signal ends the wait; a request that was sent ends by itself
   * @throws Refusal `rate_limited` if the caller has too many requests in the queue, `unavailable` if the request waited too long;
   *   the error of `begin`
   */
  async run<T>(
    { actor, limitKey }: Queued,
    signal: AbortSignal,
    begin: (hasWaited: boolean) => Promise<T>,
  ): Promise<T> {
    const entry = { key: actor, mayStart: () => this.holds === 0 && !this.paused.has(limitKey) };
    const turn = this.queue.enter(entry);
    if (turn) await endedBy(signal, turn);
    try {
      return await begin(turn !== undefined);
    } finally {
      this.queue.leave(entry);
    }
  }

  /** Sends no requests with this key for a second. They then continue round-robin, so no caller uses up the limit alone. */
  pause(limitKey: string): void {
    if (this.paused.has(limitKey)) return;
    this.paused.add(limitKey);
    void pauseElapsed().then(() => {
      this.paused.delete(limitKey);
      this.queue.startNext();
    });
  }

  /** Starts no request for a second, so that an exhausted limit recovers, and until `work` is done. */
  async holdDuring<T>(work: () => Promise<T>): Promise<T> {
    this.holds += 1;
    try {
      await pauseElapsed();
      return await work();
    } finally {
      this.holds -= 1;
      this.queue.startNext();
    }
  }
}

async function endedBy(signal: AbortSignal, { begun, giveUp }: Turn): Promise<void> {
  signal.addEventListener('abort', giveUp);
  try {
    await begun;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

const pauseElapsed = () => new Promise<void>((resolve) => void setTimeout(resolve, PAUSE_MS).unref());

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
    const { actor, workspaceId, method, holdMs } = sending.call;
    const send = () => this.sendTraced(url, sending);
    if (actor === undefined) return this.circuit.run(send, { isOfCaller: false });
    this.circuit.refuseWhileOpen();
    // A deployment of ours limits orders apart from other requests of a workspace, so reads and changes pause separately.
    const limitKey = `${workspaceId ?? ''} ${method === 'GET' ? 'reads' : 'changes'}`;
    const queue = holdMs === undefined ? this.queue : this.heldQueue;
    return queue.run({ actor, limitKey }, sending.signal, async (hasWaited) => {
      const response = await this.circuit.run(send, { workspaceId, isOfCaller: true, hasWaited });
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

  async close(): Promise<void> {
    await Promise.all([this.agent.close(), this.heldAgent.close()]);
  }
}

const valueOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : (value ?? null));

/** The gateway itself aborted the request, because its caller has disconnected or it was withdrawn. */
const isDisconnect = (error: unknown): boolean => error instanceof Refusal;

/** A response over our limit is no failure of the upstream: a request for less succeeds. */
const isTooLarge = (error: unknown): boolean => error instanceof errors.ResponseExceededMaxSizeError;
