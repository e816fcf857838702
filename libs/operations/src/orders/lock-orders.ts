import { lockAndRead, type DecisionContext, type PreparedPosting } from '@banking/ledger';
import type { BoundStatement, DbTransaction } from '@banking/postgres';
import { findStoredResponses, type StoredResponse } from '../idempotency/find-stored-responses.js';
import { lockDueRuns, readDueRuns } from './lock-runs.js';
import { readOrderConflicts, type OrderConflicts } from './order-conflicts.js';
import type { OrderFacts } from '../resources/compose-order.js';
import { findPlacedOrders } from './order-responses.js';
import { type Placement, type PreparedOrder, type PreparedRun, proposalOf } from './prepared-order.js';

/** A prepared order with what was read of it under the locks. */
export interface LockedOrder {
  readonly order: PreparedOrder;
  /** Whether another session has locked one of its accounts. */
  readonly isLockedElsewhere: boolean;
  /** The order, if an earlier attempt to place it was committed. */
  readonly placedEarlier: OrderFacts | undefined;
  readonly stored: StoredResponse | undefined;
  readonly conflicts: OrderConflicts | undefined;
  /** Of a run: `due` and locked here, `locked` by another session, or `not_due`. */
  readonly runState: 'due' | 'locked' | 'not_due' | undefined;
}

/** A query about some orders of a batch. `place` of a row is the index of its order among them. */
interface OrderQuery<Row> {
  readonly orders: readonly PreparedOrder[];
  readonly query: BoundStatement<Row & { readonly place: number }>;
}

/**
 * Locks the accounts and runs of a batch, and reads under the locks what may have changed since the orders were prepared: one query for
 * each question that some order has.
 */
export async function lockOrders(
  tx: DbTransaction,
  posting: PreparedPosting,
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
): Promise<{ readonly context: DecisionContext; readonly lockedOrders: readonly LockedOrder[] }> {
  const placements = orders.filter(isPlacement);
  const retried = placements.filter(({ mayExist, refusal }) => mayExist === true && refusal === undefined);
  const keyed = placements.filter(({ key }) => key !== undefined);
  const exclusive = placements.filter(isExclusive);
  const runs = orders.filter(isRun);

  const placedEarlier = { orders: retried, query: findPlacedOrders(retried) };
  const stored = { orders: keyed, query: findStoredResponses(keyed.flatMap(({ key }) => key ?? [])) };
  const lockedRuns = { orders: runs, query: lockDueRuns(runs, waitsForLocks) };
  const dueRuns = { orders: runs, query: readDueRuns(runs) };
  const conflicts = { orders: exclusive, query: readOrderConflicts(exclusive) };

  const queries = [placedEarlier, stored, lockedRuns, dueRuns, conflicts].filter((each) => each.orders.length > 0);
  const reads = queries.map(({ query }) => query);
  const { context, rows } = await lockAndRead(tx, posting, reads, { skipsLocked: !waitsForLocks });
  const rowsOfQuery = new Map<unknown, ReadonlyMap<PreparedOrder, unknown>>(
    queries.map((each, index) => [each, rowsByOrder(each, rows[index] ?? [])]),
  );
  const rowOf = <Row>(query: OrderQuery<Row>, order: PreparedOrder) =>
    rowsOfQuery.get(query)?.get(order) as Row | undefined;

  const runStateOf = (order: PreparedOrder): LockedOrder['runState'] => {
    if (order.kind !== 'run') return undefined;
    if (rowOf(lockedRuns, order)) return 'due';
    return rowOf(dueRuns, order) ? 'locked' : 'not_due';
  };
  const lockedOrders = orders.map((order) => ({
    order,
    isLockedElsewhere: !waitsForLocks && !context.hasLocked(proposalOf(order)),
    placedEarlier: rowOf(placedEarlier, order),
    stored: rowOf(stored, order),
    conflicts: rowOf(conflicts, order),
    runState: runStateOf(order),
  }));
  return { context, lockedOrders };
}

const rowsByOrder = <Row extends { readonly place: number }>(
  { orders }: { readonly orders: readonly PreparedOrder[] },
  rows: readonly Row[],
) => new Map(rows.map((row) => [orders[row.place]!, row]));

const isPlacement = (order: PreparedOrder): order is PreparedOrder & Placement => order.kind === 'placement';
const isRun = (order: PreparedOrder): order is PreparedOrder & PreparedRun => order.kind === 'run';
/** Whether an order uses an external reference or a quote, which serve one order each. */
const isExclusive = ({ draft, refusal }: PreparedOrder & Placement) =>
  refusal === undefined && (draft.externalReference !== undefined || draft.quoteID !== undefined);
