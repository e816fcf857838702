import type { TransactionStatus } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';

/** Every caller locks it before any account, so that the events and resolutions of one transaction are recorded one after the other. */
const LOCK_TRANSACTION = sqlStatement<{ status: TransactionStatus }>(
  'lock_remitted_transaction',
  `select x.status from transaction x
   join remittance m on (m.workspace_id, m.transaction_id) = (x.workspace_id, x.id)
   where x.workspace_id = $1 and x.id = $2
   for no key update of x`,
);
/** A separate SQL statement under the lock, so that it reads what the previous owner of the lock wrote. */
const FIND_POSITION = sqlStatement<MoneyPosition>(
  'find_money_position',
  `with recursive link (id, position) as (
     select $2::bigint, 0
     union all
     select r.id, l.position + 1 from link l join transaction r on r.workspace_id = $1 and r.return_of = l.id
   )
   select id as "latestId", position % 2 = 1 as "isBack" from link order by position desc limit 1`,
);

/** Where the money of a payout is: with the network, or back on the customer's account. */
export interface MoneyPosition {
  /** The transaction that moved it last: that of the payout, its return, the return of that, and so on. */
  readonly latestId: bigint;
  readonly isBack: boolean;
}

export const lockTransaction = (
  workspaceId: number,
  transactionId: number,
): BoundStatement<{ status: TransactionStatus }> => bind(LOCK_TRANSACTION, workspaceId, transactionId);

export const findPosition = (workspaceId: number, transactionId: number): BoundStatement<MoneyPosition> =>
  bind(FIND_POSITION, workspaceId, transactionId);
