import { tracingChannel } from 'node:diagnostics_channel';
import type { OrderOutcome, PreparedOrder } from './prepared-order.js';

/** Channels for metrics and traces, as in `channels.ts` of `@banking/postgres`. */

/** An order or a run of one, from its submission to its outcome. */
export interface OrderMessage {
  readonly kind: PreparedOrder['kind'];
  readonly submittedAtMs: number;
}
export const orderChannel = tracingChannel<unknown, OrderMessage>('banking:orders:order');

/** A batch of orders that one database transaction carries out, from its beginning to the outcomes of its orders. */
export interface OrderBatchMessage {
  /** The orders as `orderChannel` published them: the same objects. */
  readonly orders: readonly OrderMessage[];
  /** For how long the longest waiting order of the batch has waited. */
  readonly waitMs: number;
  /** `contended` waits for accounts that another session has locked. `common` leaves their orders out. */
  readonly strategy: 'common' | 'contended';
  /** Set at the end. */
  readonly result?: readonly Pick<OrderOutcome, 'kind'>[];
}
export const orderBatchChannel = tracingChannel<unknown, OrderBatchMessage>('banking:orders:batch');

/** Submits an order. The message is undefined without a subscriber. */
export function traceOrder<T>(
  kind: PreparedOrder['kind'],
  submit: (message: OrderMessage | undefined) => Promise<T>,
): Promise<T> {
  if (!orderChannel.hasSubscribers && !orderBatchChannel.hasSubscribers) return submit(undefined);
  const message = { kind, submittedAtMs: performance.now() };
  return orderChannel.tracePromise(() => submit(message), message);
}

/** Carries out a batch. */
export function traceOrderBatch(
  batch: readonly { readonly message: OrderMessage | undefined }[],
  waitsForLocks: boolean,
  post: () => Promise<readonly OrderOutcome[]>,
): Promise<readonly OrderOutcome[]> {
  if (!orderBatchChannel.hasSubscribers) return post();
  const orders = batch.flatMap(({ message }) => message ?? []);
  const nowMs = performance.now();
  const waitMs = orders.reduce((longestMs, { submittedAtMs }) => Math.max(longestMs, nowMs - submittedAtMs), 0);
  return orderBatchChannel.tracePromise(post, {
    orders,
    waitMs,
    strategy: waitsForLocks ? 'contended' : 'common',
  });
}
