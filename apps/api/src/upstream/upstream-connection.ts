import { randomUUID } from 'node:crypto';
import { Agent, errors, request } from 'undici';
import type { Logger } from 'pino';
import type { Sending, Transport } from '@banking/client';
import { Refusal } from '@banking/domain';
import { Circuit } from './circuit.js';
import { CONCURRENT_MAX, RequestQueue } from './request-queue.js';

/** Connections that only our own requests use, so that callers cannot keep us from learning who they are. */
const OWN_CONNECTIONS = 8;

/** Every bound on what an upstream can make us hold, and for how long; the time for a whole answer is the client's. */
const LIMITS = {
  connections: CONCURRENT_MAX + OWN_CONNECTIONS,
  connectTimeoutMs: 2_000,
  answerBytes: 16 * 1024 * 1024,
  // An upstream that announces how long it keeps a connection is believed, less two seconds; else it is soon given up.
  idleTimeoutMs: 4_000,
  idleTimeoutMaxMs: 60_000,
} as const;

/** How long a request waits for its turn, at most, and for which part of the time that the upstream may take. */
const WAIT_MAX = { ms: 2_000, part: 0.5 };

/**
 * The way to the upstream: connections that are kept, a queue that shares them between callers, a circuit that guards them, and our name
 * on every request. Our own requests, which have no actor, do not wait in the queue.
 */
export class UpstreamConnection {
  /** How this process is called in `Via` (RFC 9110, section 7.6.3): a request that comes in with it has gone in a circle. */
  readonly name = `gateway-${randomUUID()}`;
  private readonly circuit: Circuit;
  private readonly agent = new Agent({
    connections: LIMITS.connections,
    connect: { timeout: LIMITS.connectTimeoutMs },
    keepAliveTimeout: LIMITS.idleTimeoutMs,
    keepAliveMaxTimeout: LIMITS.idleTimeoutMaxMs,
    maxResponseSize: LIMITS.answerBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  private readonly queue: RequestQueue;

  /** @param timeoutMs for one request, the wait for its turn included */
  constructor(timeoutMs: number, log: Pick<Logger, 'error' | 'info'>) {
    this.circuit = new Circuit((error) => !isTooLarge(error) && !isCallerGone(error), log);
    this.queue = new RequestQueue(Math.min(WAIT_MAX.ms, timeoutMs * WAIT_MAX.part));
  }

  /** What the client sends with. Nothing is unpacked, followed or repeated. */
  readonly transport: Transport = async (url, sending) => {
    const { actor, workspaceId = '', method } = sending.call;
    const send = () => this.send(url, sending);
    if (actor === undefined) return this.circuit.run(send, { isOfCaller: false });
    this.circuit.refuseWhileOpen();
    // Our own deployments count reads and changes of a workspace together, and orders apart: a pause of the one leaves the other alone.
    const limitKey = `${workspaceId} ${method === 'GET' ? 'reads' : 'changes'}`;
    return this.queue.run({ actor, limitKey }, sending.signal, async (hasWaited) => {
      const answer = await this.circuit.run(send, { isOfCaller: true, hasWaited });
      if (answer.status === 429) this.queue.pause(limitKey);
      return answer;
    });
  };

  /** Sends nothing for callers until this is done: what they would use up of a limit is left for it. */
  holdCallersDuring<T>(work: () => Promise<T>): Promise<T> {
    return this.queue.holdDuring(work);
  }

  private async send(url: URL, { method, headers, body, signal }: Sending) {
    const answer = await request(url, {
      dispatcher: this.agent,
      method,
      headers: { ...headers, Via: `1.1 ${this.name}` },
      ...(body !== undefined && { body }),
      signal,
    });
    const bytes = await answer.body.arrayBuffer();
    return {
      status: answer.statusCode,
      headers: { get: (name: string) => valueOf(answer.headers[name.toLowerCase()]) },
      arrayBuffer: () => Promise.resolve(bytes),
    };
  }

  /** Lets requests that are on their way finish. */
  close(): Promise<void> {
    return this.agent.close();
  }
}

const valueOf = (value: string | string[] | undefined) => (value === undefined ? null : [value].flat().join(', '));

/** We have ended it ourselves, because nobody waits for it any more. */
const isCallerGone = (error: unknown): boolean => error instanceof Refusal;

/** More than we read is no sign of trouble: whoever asks for less gets it. */
const isTooLarge = (error: unknown): boolean => error instanceof errors.ResponseExceededMaxSizeError;
