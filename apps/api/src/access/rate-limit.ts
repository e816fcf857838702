import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type AccountId, type Created, type Order, Refusal, type RequestOptions, type Scope } from '@banking/domain';

/** After a pause a burst may contain the requests of two seconds, or the orders of twenty seconds. */
const BURST_S = { requests: 2, orders: 20 };
const CALLERS_MAX = 10_000;

/** A page counts as one request for each so many rows that it may have. */
const ROWS_PER_REQUEST = 100;

/** As how many requests a page counts. @param rows how many it may have */
export const requestsOfPage = (rows: number): number => Math.max(1, Math.ceil(rows / ROWS_PER_REQUEST));

/** How many requests one key may make. */
interface RateLimitPolicy {
  /** The name in `RateLimit-Policy`. */
  readonly name: string;
  readonly perSecond: number;
  /** How many may arrive at once after a pause. */
  readonly burst: number;
}

/** Requests of one user in one workspace. */
export function requestLimit(perSecond: number): RateLimitPolicy {
  return { name: 'user', perSecond, burst: perSecond * BURST_S.requests };
}

/** Orders of one workspace, of all its users together. */
export function orderLimit(perMinute: number): RateLimitPolicy {
  const perSecond = perMinute / 60;
  return { name: 'orders', perSecond, burst: Math.max(1, Math.floor(perSecond * BURST_S.orders)) };
}

/** A reply whose headers can be set. */
type Headed = Pick<FastifyReply, 'header' | 'getHeader'>;

interface Bucket {
  left: number;
  filledAtMs: number;
}

/**
 * A token bucket for each key, in this process: a burst, then a steady number per second. The number of buckets is bounded: the least
 * recently used bucket is removed first and starts full again. Without a policy every request is accepted.
 *
 * This replaces @fastify/rate-limit, whose counter is read after an await: concurrent requests all see the same count.
 */
export class RateLimit {
  private readonly buckets = new LRUCache<string, Bucket>({ max: CALLERS_MAX });

  constructor(
    private readonly policy?: RateLimitPolicy,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Headers as in the IETF draft "RateLimit header fields for HTTP".
   *
   * @param count how many requests it counts as; at most a burst, so that a small limit refuses no page for ever
   * @throws Refusal `rate_limited`
   */
  take(reply: Headed, key: string, count = 1): void {
    if (this.policy === undefined) return;
    const { name, perSecond, burst } = this.policy;
    const bucket = this.bucketOf(key, this.policy);
    const needed = Math.min(count, burst);
    const isTaken = bucket.left >= needed;
    if (isTaken) bucket.left -= needed;
    append(reply, 'RateLimit-Policy', `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`);
    append(
      reply,
      'RateLimit',
      `"${name}";r=${Math.floor(bucket.left)};t=${Math.ceil((burst - bucket.left) / perSecond)}`,
    );
    if (isTaken) return;
    throw new Refusal('rate_limited', undefined, { retryAfterSeconds: Math.ceil((needed - bucket.left) / perSecond) });
  }

  /** Returns one token, for a request that does not count after all. */
  giveBack(key: string): void {
    if (this.policy === undefined) return;
    // The next use of the bucket limits it to the burst.
    this.bucketOf(key, this.policy).left += 1;
  }

  private bucketOf(key: string, { burst, perSecond }: RateLimitPolicy): Bucket {
    const nowMs = this.nowMs();
    const bucket = this.buckets.get(key) ?? { left: burst, filledAtMs: nowMs };
    bucket.left = Math.min(burst, bucket.left + ((nowMs - bucket.filledAtMs) / 1000) * perSecond);
    bucket.filledAtMs = nowMs;
    this.buckets.set(key, bucket);
    return bucket;
  }
}

/** Several limits may apply to one response. */
function append(reply: Headed, name: string, value: string): void {
  const before = reply.getHeader(name);
  reply.header(name, before === undefined ? value : `${String(before)}, ${value}`);
}

const KEYS_REMEMBERED_MAX = 100_000;

/** An attempt to place an order. */
interface Attempt extends RequestOptions, Pick<Scope, 'workspaceId'> {
  readonly accountId: AccountId;
  readonly body: object;
}

/**
 * Limits the attempts of a workspace to place an order, counted in this process. A refused attempt counts, and a replay does not. So a
 * caller who lost a response gets it again, also if no attempt is left.
 */
export class OrderLimit {
  private readonly limit: RateLimit | undefined;
  /** Digests of the bodies of placed orders, by idempotency key. */
  private readonly placed = new LRUCache<string, string>({ max: KEYS_REMEMBERED_MAX });

  constructor(perMinute: number | undefined, nowMs?: () => number) {
    this.limit = perMinute === undefined ? undefined : new RateLimit(orderLimit(perMinute), nowMs);
  }

  /** @throws Refusal `rate_limited`, and what `place` throws */
  async count(reply: Headed, attempt: Attempt, place: () => Promise<Created<Order>>): Promise<Created<Order>> {
    if (!this.limit) return place();
    const { workspaceId, accountId, idempotencyKey, body } = attempt;
    const key = idempotencyKey === undefined ? undefined : `${workspaceId} ${accountId} ${idempotencyKey}`;
    const digest = key === undefined ? '' : digestOf(body);
    if (key !== undefined && this.placed.get(key) === digest) return place();

    this.limit.take(reply, String(workspaceId));
    const created = await place();
    if (created.isReplay) this.limit.giveBack(String(workspaceId));
    if (key !== undefined) this.placed.set(key, digest);
    return created;
  }
}

const digestOf = (body: object): string => hash('sha256', JSON.stringify(Object.entries(body).sort()), 'base64');
