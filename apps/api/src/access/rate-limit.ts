import type { FastifyReply } from 'fastify';
import { Refusal } from '@banking/domain';

/** How many seconds' worth of requests may come at once after a pause. */
const BURST_S = 2;
const CALLERS_MAX = 10_000;

interface Bucket {
  left: number;
  filledAtMs: number;
}

/**
 * A token bucket for each user in each workspace, in this process: a burst of two seconds' worth, then a steady rate. Bounded: the
 * caller who was away longest is forgotten first, which gives them a full bucket. Without a rate it lets everything through.
 *
 * Our own, because the counter of @fastify/rate-limit is read after it was awaited: requests that arrive together all see the last count.
 */
export class RateLimit {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly perSecond?: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Headers as in the IETF draft "RateLimit header fields for HTTP".
   *
   * @throws Refusal `rate_limited`
   */
  take(reply: Pick<FastifyReply, 'header'>, key: string): void {
    if (this.perSecond === undefined) return;
    const burst = this.perSecond * BURST_S;
    const bucket = this.bucketOf(key, burst, this.perSecond);
    const isTaken = bucket.left >= 1;
    if (isTaken) bucket.left -= 1;
    reply.header('RateLimit-Policy', `"user";q=${burst};w=${BURST_S}`);
    reply.header(
      'RateLimit',
      `"user";r=${Math.floor(bucket.left)};t=${Math.ceil((burst - bucket.left) / this.perSecond)}`,
    );
    if (isTaken) return;
    throw new Refusal('rate_limited', undefined, { retryAfterSeconds: Math.ceil((1 - bucket.left) / this.perSecond) });
  }

  private bucketOf(key: string, burst: number, perSecond: number): Bucket {
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
