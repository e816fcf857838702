import { orderBatchChannel } from '@banking/operations';
import type { Metrics } from './metrics.js';
import { onEnd, type Unsubscribe } from './subscriptions.js';

/** Metrics of the batches of orders. */
export function collectOrders(metrics: Metrics): Unsubscribe {
  const sizes = metrics.histogram('banking_order_batch_size');
  const waits = metrics.histogram('banking_order_batch_wait_seconds');
  const durations = metrics.histogram('banking_order_batch_duration_seconds');
  const locked = metrics.counter('banking_orders_locked_total');
  return onEnd(orderBatchChannel, ({ orders, waitMs, strategy, result = [] }, seconds) => {
    sizes.observe({ strategy }, orders.length);
    waits.observe({ strategy }, waitMs / 1000);
    durations.observe({ strategy }, seconds);
    const lockedCount = result.filter(({ kind }) => kind === 'locked').length;
    if (lockedCount > 0) locked.inc(lockedCount);
  });
}
