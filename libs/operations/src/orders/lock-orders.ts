import { accountKey, type AccountRef, type DecisionContext, lockAndRead, type PreparedPosting } from '@banking/ledger';
import { bind, type BoundStatement, type DbTransaction, lookup, sqlStatement } from '@banking/postgres';
import { findStoredResponses, type StoredResponse } from '../idempotency/idempotency-key.js';
import { BatchLimits, lockLimits } from '../limits/batch-limits.js';
import { isElsewhere, versionsOf } from '../payments/payment-facts.js';
import type { PaymentTerms } from '../payments/payment-terms.js';
import { selected } from '../resources/columns.js';
import type { OrderFacts } from '../resources/compose-order.js';
import { ACCOUNT_COLUMNS, type AccountRow } from '../resources/compose-parties.js';
import { EXECUTION } from './schedule.js';
import {
  findPlacedOrders,
  isLimited,
  type LockedElsewhere,
  type OrderConflicts,
  type Placement,
  placerOf,
  type PreparedOrder,
  type PreparedRun,
  proposalOf,
  readOrderConflicts,
} from './prepared-order.js';

/** The customers' accounts of a batch by `accountKey`. */
export type AccountsByKey = ReadonlyMap<string, AccountRow>;

/** A prepared order with what was read of it under the locks. */
export interface LockedOrder {
  readonly order: PreparedOrder;
  readonly lockedElsewhere: LockedElsewhere | undefined;
  /** The order, if an earlier attempt to place it was committed. */
  readonly placedEarlier: OrderFacts | undefined;
  readonly stored: StoredResponse | undefined;
  readonly conflicts: OrderConflicts | undefined;
  /** Whether it was prepared of remembered facts that have changed. */
  readonly isOutdated: boolean;
  /** Of a run: `due` and locked here, `locked` by another session, or `not_due`. */
  readonly runState: 'due' | 'locked' | 'not_due' | undefined;
}

const READ_ACCOUNTS = sqlStatement<AccountRow & { readonly workspaceId: bigint }>(
  'read_accounts_of_orders',
  `select a.workspace_id as "workspaceId", ${selected(ACCOUNT_COLUMNS, 'a')}
   from unnest($1::bigint[], $2::bigint[]) u(w, id)
   cross join ${lookup('select * from account l where l.workspace_id = u.w and l.id = u.id')} a`,
);

/** The accounts that the responses to these orders contain, by `accountKey`. */
export function accountsShown(placements: readonly PreparedOrder[]): ReadonlyMap<string, AccountRef> {
  const refs = new Map<string, AccountRef>();
  for (const { workspaceId, accountId: payerId, terms } of placements) {
    for (const accountId of [payerId, payeeIn(workspaceId, terms)])
      if (accountId !== undefined) refs.set(accountKey(workspaceId, accountId), { workspaceId, accountId });
  }
  return refs;
}

function readAccounts(
  placements: readonly PreparedOrder[],
): BoundStatement<AccountRow & { readonly workspaceId: bigint }> {
  const refs = [...accountsShown(placements).values()];
  return bind(
    READ_ACCOUNTS,
    refs.map(({ workspaceId }) => workspaceId),
    refs.map(({ accountId }) => accountId),
  );
}

/** The account that is paid, if it is one of the workspace. */
export function payeeIn(workspaceId: number, terms: PaymentTerms | undefined): number | undefined {
  const payee = terms?.payee;
  return payee && !isElsewhere(payee) && payee.workspaceId === workspaceId ? payee.accountId : undefined;
}

/** Its ids as numbers, as a record of a response has them. */
const accountWithKey = ({
  workspaceId,
  ...row
}: AccountRow & { readonly workspaceId: bigint }): [string, AccountRow] => {
  const [accountId, balanceId, productId] = [Number(row.accountId), Number(row.balanceId), Number(row.productId)];
  return [accountKey(Number(workspaceId), accountId), { ...row, accountId, balanceId, productId }];
};

/** A row of a query about some orders. `place` is the index of its order among them; without it, each order has a row, in their order. */
type OfOrder<Row> = Row & { readonly place?: number };

/** A query about some orders of a batch. */
interface OrderQuery<Row> {
  readonly orders: readonly PreparedOrder[];
  readonly query: BoundStatement<OfOrder<Row>>;
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
): Promise<{
  readonly context: DecisionContext;
  readonly limits: BatchLimits;
  readonly lockedOrders: readonly LockedOrder[];
  readonly accounts: AccountsByKey;
}> {
  const placements = orders.filter(isPlacement);
  const retried = placements.filter(({ mayExist, refusal }) => mayExist === true && refusal === undefined);
  const keyed = placements.filter(({ key }) => key !== undefined);
  const exclusive = placements.filter(isExclusive);
  const runs = orders.filter(isRun);
  const versioned = orders.filter((order) => versionsKnownTo(order) !== undefined);

  const placedEarlier = { orders: retried, query: findPlacedOrders(retried) };
  const stored = { orders: keyed, query: findStoredResponses(keyed.flatMap(({ key }) => key ?? [])) };
  const lockedRuns = { orders: runs, query: lockDueRuns(runs, waitsForLocks) };
  const dueRuns = { orders: runs, query: readDueRuns(runs) };
  const conflicts = { orders: exclusive, query: readOrderConflicts(exclusive) };
  const versions = { orders: versioned, query: versionsOf(versioned.map(paymentOf)) };

  const queries = [placedEarlier, stored, lockedRuns, dueRuns, conflicts, versions].filter(
    (each) => each.orders.length > 0,
  );
  const placing = placements.filter(({ refusal }) => refusal === undefined);
  const limited = orders.filter(isLimited);
  const counted = limited.map((order) => ({ workspaceId: order.workspaceId, placedBy: placerOf(order) }));
  const reads = [
    ...queries.map(({ query }) => query),
    // Behind all other locks, as the guard of payments takes it.
    ...(limited.length === 0 ? [] : [lockLimits(counted, waitsForLocks)]),
    ...(placing.length === 0 ? [] : [readAccounts(placing)]),
  ];
  const { context, rows } = await lockAndRead(tx, posting, reads, { skipsLocked: !waitsForLocks });
  const rowsOfQuery = new Map<unknown, ReadonlyMap<PreparedOrder, unknown>>(
    queries.map((each, index) => [each, rowsByOrder(each, (rows[index] ?? []) as readonly OfOrder<unknown>[])]),
  );
  const limits = BatchLimits.ofRows(limited.length === 0 ? [] : (rows[queries.length] as never));
  const rowOf = <Row>(query: OrderQuery<Row>, order: PreparedOrder) =>
    rowsOfQuery.get(query)?.get(order) as Row | undefined;

  const runStateOf = (order: PreparedOrder): LockedOrder['runState'] => {
    if (order.kind !== 'run') return undefined;
    if (rowOf(lockedRuns, order)) return 'due';
    return rowOf(dueRuns, order) ? 'locked' : 'not_due';
  };
  const lockedElsewhere = (order: PreparedOrder): LockedElsewhere | undefined => {
    if (!context.hasLocked(proposalOf(order))) return 'account';
    return isLimited(order) && !limits.workspaces.has(order.workspaceId) ? 'limits' : undefined;
  };
  const lockedOrders = orders.map((order) => ({
    order,
    lockedElsewhere: waitsForLocks ? undefined : lockedElsewhere(order),
    placedEarlier: rowOf(placedEarlier, order),
    stored: rowOf(stored, order),
    conflicts: rowOf(conflicts, order),
    isOutdated: versionsKnownTo(order) !== rowOf(versions, order)?.versions,
    runState: runStateOf(order),
  }));
  const accountRows = (placing.length === 0 ? [] : rows.at(-1)) as (AccountRow & { readonly workspaceId: bigint })[];
  return { context, limits, lockedOrders, accounts: new Map(accountRows.map(accountWithKey)) };
}

const rowsByOrder = ({ orders }: { readonly orders: readonly PreparedOrder[] }, rows: readonly OfOrder<unknown>[]) =>
  new Map(rows.map((row, index) => [orders[row.place ?? index]!, row]));

const paymentOf = (order: PreparedOrder) => {
  const { recipientId } = order.kind === 'placement' ? order.content : order.run.order;
  return { workspaceId: order.workspaceId, recipientId };
};

/** The versions of the facts that an order was prepared of. */
const versionsKnownTo = (order: PreparedOrder): string | undefined =>
  (order.kind === 'placement' ? order.rememberedVersions : undefined) ?? order.readVersions;

const isPlacement = (order: PreparedOrder): order is PreparedOrder & Placement => order.kind === 'placement';
const isRun = (order: PreparedOrder): order is PreparedOrder & PreparedRun => order.kind === 'run';

/** Whether an order uses an external reference or a quote, which serve one order each. */
const isExclusive = ({ content, refusal }: PreparedOrder & Placement) =>
  refusal === undefined && (content.externalReference !== undefined || content.quoteId !== undefined);

/** A row for each run that is due. `place` is its index. */
type Row = { readonly place: number };

/** Locks the claim, the order and the execution of each due run. Sorted, so that two batches cannot deadlock. */
const lockRuns = (name: string, wait: string) =>
  sqlStatement<Row>(
    name,
    `select (u.n - 1)::int as place
     from (select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) with ordinality u(w, execution, o, fence, n)
           order by w, execution) u
     cross join lateral (
       select from work k where k.workspace_id = u.w and k.kind = '${EXECUTION}' and k.subject_id = u.execution and k.fence = u.fence
         and k.leased_until > clock_timestamp() for update ${wait}) k
     cross join lateral (
       select from customer_order o where o.workspace_id = u.w and o.id = u.o and o.status = 'active' for no key update ${wait}) o
     cross join lateral (
       select from execution e where e.workspace_id = u.w and e.id = u.execution and e.status = 'scheduled' for no key update ${wait}) e`,
  );

const LOCK_RUNS = lockRuns('lock_runs', '');
const LOCK_FREE_RUNS = lockRuns('lock_free_runs', 'skip locked');

/** The same without locks. Another session has locked a run that is due and that `LOCK_FREE_RUNS` did not return. */
const READ_DUE_RUNS = sqlStatement<Row>(
  'read_due_runs',
  `select (u.n - 1)::int as place
   from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) with ordinality u(w, execution, o, fence, n)
   cross join ${lookup(`select * from work k where k.workspace_id = u.w and k.kind = '${EXECUTION}' and k.subject_id = u.execution
     and k.fence = u.fence`)} k
   cross join ${lookup('select * from customer_order o where o.workspace_id = u.w and o.id = u.o')} o
   cross join ${lookup('select * from execution e where e.workspace_id = u.w and e.id = u.execution')} e
   where k.leased_until > clock_timestamp() and o.status = 'active' and e.status = 'scheduled'`,
);

/** @param waitsForLocks whether to wait for rows that another session has locked, or to leave them out */
const lockDueRuns = (runs: readonly PreparedRun[], waitsForLocks: boolean): BoundStatement<Row> =>
  bind(waitsForLocks ? LOCK_RUNS : LOCK_FREE_RUNS, ...columnsOf(runs));

const readDueRuns = (runs: readonly PreparedRun[]): BoundStatement<Row> => bind(READ_DUE_RUNS, ...columnsOf(runs));

const columnsOf = (runs: readonly PreparedRun[]) => [
  runs.map(({ claim }) => claim.workspaceId),
  runs.map(({ claim }) => claim.subjectId),
  runs.map(({ run }) => run.order.id),
  runs.map(({ claim }) => claim.fence),
];
