import { type OrderContent, rowOfContent } from '../resources/compose-order.js';

interface PlacedOrder extends Partial<OrderContent> {
  readonly workspaceId: number;
  readonly status?: string;
}

interface PlacedRun {
  readonly workspaceId: number;
  readonly id: number;
  readonly orderId: number;
  readonly sequence?: number;
  readonly transactionId?: number | undefined;
  /** The first run of an order is due now, unless it has a transaction. */
  readonly scheduledAt?: string;
}

/** The row of an order that is placed now: an instant one of 1.00 that is active, unless it is given otherwise. */
export const placedOrder = ({ workspaceId, status = 'active', ...content }: PlacedOrder): object => ({
  ...rowOfContent({ amount: '100', type: 'instant', ...content } as OrderContent),
  ...{ workspace_id: workspaceId, status, created_at: 'now', updated_at: 'now' },
});

const runRow = ({ workspaceId, id, orderId, sequence = 1, transactionId, scheduledAt = 'now' }: PlacedRun): object => ({
  ...{ workspace_id: workspaceId, id, order_id: orderId, sequence, scheduled_at: scheduledAt },
  ...(transactionId === undefined
    ? { status: 'scheduled' }
    : { status: 'completed', transaction_id: transactionId, executed_at: 'now' }),
});

const literal = (rows: readonly object[]) => `'${JSON.stringify(rows).replaceAll("'", "''")}'::json`;

/** The runs as an argument of `place_orders`. */
export const placedRuns = (...runs: readonly PlacedRun[]): string =>
  `array(select r from json_populate_recordset(null::placed_execution, ${literal(runs.map(runRow))}) r)`;

/** SQL that places orders of these rows. */
export const placeOrders = (orders: readonly object[], ...runs: readonly PlacedRun[]): string =>
  `select place_orders(${literal(orders)}, ${placedRuns(...runs)})`;
