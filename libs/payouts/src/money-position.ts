import { bind, statement, type Bound } from '@banking/postgres';

/** Locked before any account, by every caller: the events and resolutions of one transaction are recorded one after the other. */
const LOCK_TRANSACTION = statement<{ status: TransactionStatus }>(
  'lock_remitted_transaction',
  `select x.status from transaction x
   join remittance m on (m.workspace_id, m.transaction_id) = (x.workspace_id, x.id)
   where x.workspace_id = $1 and x.id = $2
   for no key update of x`,
);
/** A statement of its own behind the lock, so that it sees what the previous holder wrote. */
const FIND_POSITION = statement<MoneyPosition>(
  'find_money_position',
  `with recursive link (id, position) as (
     select $2::bigint, 0
     union all
     select r.id, l.position + 1 from link l join transaction r on r.workspace_id = $1 and r.return_of = l.id
   )
   select id as "latestId", position % 2 = 1 as "isBack" from link order by position desc limit 1`,
);

export type TransactionStatus = 'pending' | 'completed' | 'failed';

/** Where the money of a payout is: out, or back on the customer's account. */
export interface MoneyPosition {
  /** The transaction that moved it last: the payout's own, its return, the return of that, and so on. */
  readonly latestId: bigint;
  readonly isBack: boolean;
}

export const lockTransaction = (workspaceId: number, transactionId: number): Bound<{ status: TransactionStatus }> =>
  bind(LOCK_TRANSACTION, workspaceId, transactionId);

export const findPosition = (workspaceId: number, transactionId: number): Bound<MoneyPosition> =>
  bind(FIND_POSITION, workspaceId, transactionId);
