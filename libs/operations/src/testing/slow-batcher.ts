import { Refusal } from '@banking/domain';
import { OrderBatcher, type PostBatch } from '../orders/order-batcher.js';
import type { OrderOutcome, PreparedOrder } from '../orders/prepared-order.js';

export const RUN: OrderOutcome = { kind: 'run' };
export const LOCKED: OrderOutcome = { kind: 'locked' };

const refusal = new Refusal('account_not_found');
/** @param payee an account of the same workspace */
export const order = (workspaceId: number, accountId = 1, payee?: number): PreparedOrder => {
  const entries = payee === undefined ? [] : [{ workspaceId, legs: [{ account: accountId }, { account: payee }] }];
  const unread = { draft: {} as never, ids: {} as never, recipient: {} as never, caller: {} as never };
  return { kind: 'placement', workspaceId, accountId, ...unread, refusal, entries: entries as never };
};
export const range = (length: number) => Array.from({ length }, (_, index) => index);

/** A batcher whose batches are decided when the spec calls `commit`, and end when it calls `finish` or `fail`. */
export function slowBatcher(outcomeOf: (order: PreparedOrder, waits: boolean) => OrderOutcome = () => RUN) {
  const batches: {
    readonly of: readonly string[];
    readonly waits: boolean;
    commit(): void;
    finish(): void;
    fail(error: Error): void;
  }[] = [];
  const post: PostBatch = (orders, waits, commit) =>
    new Promise((resolve, reject) => {
      batches.push({
        of: orders.map(({ workspaceId, accountId }) => `${workspaceId}/${accountId}`),
        waits,
        commit,
        finish: () => resolve(orders.map((one) => outcomeOf(one, waits))),
        fail: reject,
      });
    });
  return { batcher: new OrderBatcher(post), batches };
}
/** Waits two turns of the event loop, so that work deferred to the next turn has started. */
export const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
