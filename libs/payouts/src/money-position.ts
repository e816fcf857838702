import type { TransactionStatus } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import type { Outgoing } from './open-payouts.js';

/** Ids of a payout as the database returns them. */
interface OutgoingRow {
  readonly workspace_id: bigint;
  readonly transaction_id: bigint;
}

/** A transaction under its lock. */
export interface LockedTransaction extends OutgoingRow {
  readonly status: TransactionStatus;
}

/** Where the money of a payout is: with the network, or back on the customer's account. */
export interface MoneyPosition extends OutgoingRow {
  /** The transaction that moved it last: that of the payout, its return, the return of that, and so on. */
  readonly latestId: bigint;
  readonly isBack: boolean;
}

/**
 * Every caller locks them before any account, so that the events and resolutions of one transaction are recorded one after the other.
 * In the order of their ids, so that two batches wait for each other and cannot deadlock.
 */
const LOCK_TRANSACTIONS = sqlStatement<LockedTransaction>(
  'lock_remitted_transactions',
  `select x.workspace_id, x.id as transaction_id, x.status
   from unnest($1::bigint[], $2::bigint[]) u(w, i)
   join transaction x on (x.workspace_id, x.id) = (u.w, u.i)
   join remittance m on (m.workspace_id, m.transaction_id) = (u.w, u.i)
   order by x.workspace_id, x.id
   for no key update of x`,
);
/** A separate SQL statement under the locks, so that it reads what their previous owners wrote. A return is unique. */
const FIND_POSITIONS = sqlStatement<MoneyPosition>(
  'find_money_positions',
  `with recursive link (workspace_id, transaction_id, id, position) as (
     select w, i, i, 0 from unnest($1::bigint[], $2::bigint[]) u(w, i)
     union all
     select l.workspace_id, l.transaction_id, r.id, l.position + 1
     from link l cross join lateral (
       select id from transaction where workspace_id = l.workspace_id and return_of = l.id limit 1
     ) r
   )
   select distinct on (workspace_id, transaction_id) workspace_id, transaction_id, id as "latestId", position % 2 = 1 as "isBack"
   from link order by workspace_id, transaction_id, position desc`,
);

export const lockTransactions = (list: readonly Outgoing[]): BoundStatement<LockedTransaction> =>
  bind(LOCK_TRANSACTIONS, ...outgoingColumns(list));

export const findPositions = (list: readonly Outgoing[]): BoundStatement<MoneyPosition> =>
  bind(FIND_POSITIONS, ...outgoingColumns(list));

/** The first two parameters of a statement on payouts: workspaces and transactions. */
export const outgoingColumns = (list: readonly Outgoing[]): [number[], number[]] => [
  list.map(({ workspaceId }) => workspaceId),
  list.map(({ transactionId }) => transactionId),
];

/** The name of a payout in a map. */
export const nameOfOutgoing = ({ workspaceId, transactionId }: Outgoing): string => `${workspaceId}/${transactionId}`;

/** The rows of a statement on payouts, by `nameOfOutgoing`. */
export function byOutgoing<Row extends OutgoingRow>(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [`${row.workspace_id}/${row.transaction_id}`, row]));
}
