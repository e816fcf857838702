import { orderBatchChannel, orderChannel } from '@banking/operations';
import { fail, typeOf } from './failures.js';
import type { Spans } from './spans.js';

/**
 * An order has a span from its submission to its outcome. A batch has a trace of its own, because its orders belong to several requests:
 * it is linked to the spans of its orders, and recorded if one of them is.
 */
export function followOrders(spans: Spans): void {
  spans.follow(orderChannel, {
    start({ kind }) {
      const parent = spans.active;
      if (parent === undefined) return { other: undefined };
      return { own: spans.startChild(parent, `order ${kind}`, { attributes: { 'banking.order.kind': kind } }) };
    },
    complete(span, { error }) {
      if (error !== undefined) span.setAttribute('error.type', typeOf(error));
    },
  });
  spans.follow(orderBatchChannel, {
    start({ orders, strategy, waitMs }) {
      const waiting = spans.spansOf(orders);
      if (waiting.length === 0) return { other: undefined };
      const attributes = {
        'banking.batch.size': orders.length,
        'banking.batch.strategy': strategy,
        'banking.batch.wait_ms': Math.round(waitMs),
      };
      return { own: spans.startLinked('order batch', waiting, attributes) };
    },
    complete(span, { error }) {
      if (error !== undefined) fail(span, typeOf(error));
    },
  });
}
