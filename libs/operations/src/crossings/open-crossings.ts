import type { MinorUnits } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { openWork } from '@banking/work-queue';

/** The kind of work that carries a payment to the database of the payee. */
export const CROSSING = 'crossing';

/** A transaction that pays an account of another database. */
export interface NewCrossing {
  readonly workspaceId: number;
  readonly transactionId: number;
  readonly accountCode: string;
  readonly currencyId: number;
  readonly amount: MinorUnits;
}

const OPEN_CROSSINGS = sqlStatement(
  'open_crossings',
  `insert into crossing (workspace_id, transaction_id, account_code, currency_id, amount)
   select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::bigint[])`,
);

/** The writes that open the crossings of pending transactions and their work, one statement a table. They are sent with the posting. */
export function openCrossings(list: readonly NewCrossing[]): readonly BoundStatement<unknown>[] {
  if (list.length === 0) return [];
  return [
    bind(
      OPEN_CROSSINGS,
      list.map(({ workspaceId }) => workspaceId),
      list.map(({ transactionId }) => transactionId),
      list.map(({ accountCode }) => accountCode),
      list.map(({ currencyId }) => currencyId),
      list.map(({ amount }) => amount.toString()),
    ),
    openWork(list.map(({ workspaceId, transactionId }) => ({ workspaceId, kind: CROSSING, subjectId: transactionId }))),
  ];
}
