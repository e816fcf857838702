import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AccountId, Created, RequestOptions, Order, Scope } from '@banking/domain';
import { type Headed, orderLimit, RateLimit } from '../access/rate-limit.js';

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
