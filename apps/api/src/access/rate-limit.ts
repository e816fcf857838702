import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';

/** What `@fastify/rate-limit` answers for one request. */
interface Count {
  readonly isAllowed: boolean;
  readonly isExceeded?: boolean;
  readonly max?: number;
  readonly remaining?: number;
  readonly ttlInSeconds?: number;
}

type Counter = (request: FastifyRequest) => Promise<unknown>;

const WINDOW_S = 1;

/** Requests of one user in one workspace, per second and per process. Without a limit it lets everything through. */
export class RateLimit {
  /** The key of a request while it is being counted. */
  private readonly keys = new WeakMap<FastifyRequest, string>();
  private counter: Counter | undefined;

  constructor(private readonly perSecond?: number) {}

  /** Connects to the counter of the server, once it is there. */
  attach(
    createCounter: (options: {
      max: number;
      timeWindow: number;
      keyGenerator: (request: FastifyRequest) => string;
    }) => Counter,
  ): void {
    // prettier-ignore
    if (this.perSecond === undefined) return;
    this.counter = createCounter({
      max: this.perSecond,
      timeWindow: WINDOW_S * 1000,
      keyGenerator: (request) => this.keys.get(request) ?? '',
    });
  }

  /**
   * Headers as in the IETF draft "RateLimit header fields for HTTP".
   *
   * @throws Refusal `rate_limited`
   */
  async take(request: FastifyRequest, reply: FastifyReply, key: string): Promise<void> {
    if (!this.counter || this.perSecond === undefined) return;
    this.keys.set(request, key);
    const count = (await this.counter(request)) as Count;
    reply.header('RateLimit-Policy', `"user";q=${this.perSecond};w=${WINDOW_S}`);
    reply.header('RateLimit', `"user";r=${count.remaining ?? 0};t=${count.ttlInSeconds ?? WINDOW_S}`);
    if (count.isExceeded === true) {
      throw new Refusal('rate_limited', undefined, { retryAfterSeconds: count.ttlInSeconds ?? WINDOW_S });
    }
  }
}
