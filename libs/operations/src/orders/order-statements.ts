import { bind, compositeOf, sqlStatement, type BoundStatement } from '@banking/postgres';
import { rowOfContent } from '../resources/compose-order.js';
import { type ApprovalRequest, requestApproval } from '../approvals/approval-request.js';
import type { Placement } from './prepared-order.js';

/** An order that is written. */
interface PlacedOrder {
  readonly order: Pick<Placement, 'content' | 'caller'>;
  readonly status: 'active' | 'completed';
  /** When it is placed, in the text of PostgreSQL. */
  readonly at: string;
}

/** A row of `execution`. A run that took place has a transaction, a scheduled one has its time. */
interface ExecutionRow {
  readonly workspaceId: number;
  readonly id: number;
  readonly orderId: number;
  readonly sequence: number;
  readonly status: 'awaiting_approval' | 'scheduled' | 'pending' | 'completed';
  readonly transactionId?: number | undefined;
  readonly scheduledAt: string;
  /** When it took place. */
  readonly executedAt?: string | undefined;
}

const PLACE_ORDERS = sqlStatement('place_orders', 'select place_orders($1, $2::placed_execution[])');

const orderRow = ({ order: { content, caller }, status, at }: PlacedOrder): object => ({
  ...rowOfContent(content),
  ...{ workspace_id: caller.workspaceId, placed_by: caller.actor, status, created_at: at, updated_at: at },
});

const executionValue = (row: ExecutionRow): string =>
  compositeOf([
    ...[row.workspaceId, row.id, row.orderId, row.sequence, row.status, row.transactionId, row.scheduledAt],
    row.executedAt,
  ]);

/** The rows that one order writes, besides the books. */
export interface OrderWrites {
  readonly orders?: readonly PlacedOrder[];
  readonly executions?: readonly ExecutionRow[];
  /** What an order waits for. It is written before the order. */
  readonly approval?: ApprovalRequest | undefined;
  /** Changes of existing rows. */
  readonly changes?: readonly BoundStatement<unknown>[];
}

/** The writes of many orders besides their payments. A quote is used by its order, and a scheduled run is put into the queue. */
export function orderStatements(writes: readonly OrderWrites[]): BoundStatement<unknown>[] {
  const all = <Row>(rows: (one: OrderWrites) => readonly Row[] | undefined) => writes.flatMap((one) => rows(one) ?? []);
  const [orders, executions] = [all((one) => one.orders), all((one) => one.executions)];
  const isWritten = orders.length + executions.length > 0;
  return [
    ...writes.flatMap(({ approval }) => (approval ? [requestApproval(approval)] : [])),
    ...(isWritten ? [bind(PLACE_ORDERS, JSON.stringify(orders.map(orderRow)), executions.map(executionValue))] : []),
    ...all(({ changes }) => changes),
  ];
}

/** The kind of work that carries out a run of an order. */
export const EXECUTION = 'execution';
