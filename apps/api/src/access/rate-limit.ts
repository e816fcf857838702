import type { FastifyReply } from 'fastify';
import { Refusal } from '@banking/domain';

/** Two seconds' worth of requests may come at once after a pause, twenty seconds' worth of orders. */
const BURST_S = { requests: 2, orders: 20 };
const CALLERS_MAX = 10_000;

/** How much may be done. */
interface Rate {
  /** As `RateLimit-Policy` calls it. */
  readonly name: string;
  readonly perSecond: number;
  /** How much may be done at once after a pause. */
  readonly burst: number;
}

/** Requests of one user in one workspace. */
export function requestRate(perSecond: number): Rate {
  return { name: 'user', perSecond, burst: perSecond * BURST_S.requests };
}

/** Orders of one workspace, whoever places them. */
export function orderRate(perMinute: number): Rate {
  const perSecond = perMinute / 60;
  return { name: 'orders', perSecond, burst: Math.max(1, Math.floor(perSecond * BURST_S.orders)) };
}

/** An answer that headers can be put on. */
export type Headed = Pick<FastifyReply, 'header' | 'getHeader'>;

interface Bucket {
  left: number;
  filledAtMs: number;
}

/**
 * A token bucket for each key, in this process: a burst, then a steady rate. Bounded: whoever was away longest is forgotten first,
 * which gives them a full bucket. Without a rate it lets everything through.
 *
 * Our own, because the counter of @fastify/rate-limit is read after it was awaited: requests that arrive together all see the last count.
 */
export class RateLimit {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly rate?: Rate,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Headers as in the IETF draft "RateLimit header fields for HTTP".
   *
   * @throws Refusal `rate_limited`
   */
  take(reply: Headed, key: string): void {
    if (this.rate === undefined) return;
    const { name, perSecond, burst } = this.rate;
    const bucket = this.bucketOf(key, this.rate);
    const isTaken = bucket.left >= 1;
    if (isTaken) bucket.left -= 1;
    append(reply, 'RateLimit-Policy', `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`);
    append(reply, 'RateLimit', `"${name}";r=${Math.floor(bucket.left)};t=${Math.ceil((burst - bucket.left) / perSecond)}`); // prettier-ignore
    if (isTaken) return;
    throw new Refusal('rate_limited', undefined, { retryAfterSeconds: Math.ceil((1 - bucket.left) / perSecond) });
  }

  /** Takes back one that turned out not to count. */
  giveBack(key: string): void {
    if (this.rate === undefined) return;
    const bucket = this.bucketOf(key, this.rate);
    bucket.left = Math.min(this.rate.burst, bucket.left + 1);
  }

  private bucketOf(key: string, { burst, perSecond }: Rate): Bucket {
    const nowMs = this.nowMs();
    const bucket = this.buckets.get(key) ?? { left: burst, filledAtMs: nowMs };
    bucket.left = Math.min(burst, bucket.left + ((nowMs - bucket.filledAtMs) / 1000) * perSecond);
    bucket.filledAtMs = nowMs;
    this.buckets.delete(key);
    this.buckets.set(key, bucket);
    const oldest = this.buckets.keys().next();
    if (this.buckets.size > CALLERS_MAX && !oldest.done) this.buckets.delete(oldest.value);
    return bucket;
  }
}

/** Several limits may have a word on one answer. */
function append(reply: Headed, name: string, value: string): void {
  const before = reply.getHeader(name);
  reply.header(name, before === undefined ? value : `${String(before)}, ${value}`);
}
