import type { AccountId, Created, Intent, Order, Scope } from '@banking/domain';
import { type Headed, orderRate, RateLimit } from '../access/rate-limit.js';

const KEYS_REMEMBERED_MAX = 100_000;

/** Whose order it is, and by which key it is known again. */
interface Placing extends Intent, Pick<Scope, 'workspaceId'> {
  readonly accountId: AccountId;
}

/**
 * How many orders a workspace may place, whoever places them, counted in this process. Asking again for an order that was placed is
 * not counted, also when nothing is left: it is how a lost answer is found.
 */
export class OrderLimit {
  private readonly limit: RateLimit;
  /** By which keys this process has answered with an order; the oldest are forgotten first. */
  private readonly placed = new Set<string>();

  constructor(perMinute: number | undefined, nowMs?: () => number) {
    this.limit = new RateLimit(perMinute === undefined ? undefined : orderRate(perMinute), nowMs);
  }

  /** @throws Refusal `rate_limited`, and what `place` throws */
  async count(reply: Headed, placing: Placing, place: () => Promise<Created<Order>>): Promise<Created<Order>> {
    const { workspaceId, accountId, idempotencyKey } = placing;
    const key = idempotencyKey === undefined ? undefined : `${workspaceId} ${accountId} ${idempotencyKey}`;
    if (key !== undefined && this.placed.has(key)) return place();

    this.limit.take(reply, String(workspaceId));
    const created = await place();
    if (created.isReplay) this.limit.giveBack(String(workspaceId));
    if (key !== undefined) this.remember(key);
    return created;
  }

  private remember(key: string): void {
    this.placed.add(key);
    const oldest = this.placed.values().next();
    if (this.placed.size > KEYS_REMEMBERED_MAX && !oldest.done) this.placed.delete(oldest.value);
  }
}
