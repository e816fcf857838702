import { randomUUID } from 'node:crypto';
import { Agent, errors, request } from 'undici';
import type { Transport } from '@banking/client';
import { Refusal } from '@banking/domain';
import { Circuit, CONCURRENT_MAX } from './circuit.js';
import type { Logger } from 'pino';

/** Every bound on what an upstream can make us hold, and for how long; the time for a whole answer is the client's. */
const LIMITS = {
  connections: CONCURRENT_MAX,
  connectTimeoutMs: 2_000,
  answerBytes: 16 * 1024 * 1024,
  // An upstream that announces how long it keeps a connection is believed, less two seconds; else it is soon given up.
  idleTimeoutMs: 4_000,
  idleTimeoutMaxMs: 60_000,
} as const;

/** The way to the upstream: connections that are kept, a circuit that guards them, and our name on every request. */
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

  constructor(log: Pick<Logger, 'error' | 'info'>) {
    this.circuit = new Circuit((error) => !isTooLarge(error) && !isCallerGone(error), log);
  }

  /** What the client sends with. Nothing is unpacked, followed or repeated. */
  readonly transport: Transport = (url, { method, headers, body, signal }) =>
    this.circuit.run(
      async () => {
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
      },
      signal,
      !isList(url),
    );

  /** Lets requests that are on their way finish. */
  close(): Promise<void> {
    return this.agent.close();
  }
}

/** Who our callers are is asked by ourselves, all the time, and from memory: that it is answered says little of the rest. */
const isList = ({ pathname }: URL) => /\/(apps|users)$/.test(pathname);

const valueOf = (value: string | string[] | undefined) => (value === undefined ? null : [value].flat().join(', '));

/** We have ended it ourselves, because nobody waits for it any more. */
const isCallerGone = (error: unknown): boolean => error instanceof Refusal;

/** More than we read is no sign of trouble: whoever asks for less gets it. */
const isTooLarge = (error: unknown): boolean => error instanceof errors.ResponseExceededMaxSizeError;
