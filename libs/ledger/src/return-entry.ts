import { minorUnits } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { Entry, Leg, OwnAccountKind } from './proposal.js';

const MOVED = sqlStatement<{
  account_id: bigint;
  kind: OwnAccountKind | 'customer';
  currency_id: number;
  direction: 'debit' | 'credit';
  amount: bigint;
  description: string | null;
  today: string;
}>(
  'transfers_to_return',
  `select t.account_id, a.kind, t.currency_id, t.direction, t.amount, t.description,
          (statement_timestamp() at time zone 'UTC')::date::text as today
   from transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
   where t.workspace_id = $1 and t.transaction_id = $2 and t.type <> 'fee'
   order by t.id`,
);

/**
 * The entry that returns a transaction: each of its transfers reversed, as type `return`, without the fee. The customer gets the full
 * debit in the account's own currency, and a conversion is reversed. The return of a return takes the money again. Its value date is
 * the database's day.
 *
 * Transfers never change, so the entry may be made before the transaction is locked.
 *
 * @throws Error if there is no such transaction
 */
export async function returnEntry(database: Database, workspaceId: number, transactionId: number): Promise<Entry> {
  const [moved] = await database.pipeline({ workspaces: [workspaceId] }, [
    bind(MOVED, workspaceId, transactionId),
  ] as const);
  const [first] = moved;
  if (!first) throw new Error(`there is no transaction ${transactionId} to return`);
  const isReturn = moved.some(({ kind, direction }) => kind === 'customer' && direction === 'credit');
  const prefix = isReturn ? 'Reclaimed' : 'Returned';
  const legs = moved.map(({ account_id, kind, currency_id, direction, amount, description }): Leg => ({
    account: kind === 'customer' ? Number(account_id) : kind,
    currencyId: currency_id,
    direction: direction === 'debit' ? 'credit' : 'debit',
    amount: minorUnits(amount),
    type: 'return',
    description: description === null ? undefined : `${prefix}: ${description}`,
  }));
  return { workspaceId, status: 'completed', valueDate: first.today, returnOf: transactionId, legs };
}
