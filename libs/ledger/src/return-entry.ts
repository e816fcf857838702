import { minorUnits } from '@banking/domain';
import { bind, lookup, sqlStatement, type Database } from '@banking/postgres';
import type { Entry, Leg, OwnAccountKind } from './proposal.js';

interface MovedRow {
  workspace_id: bigint;
  transaction_id: bigint;
  account_id: bigint;
  kind: OwnAccountKind | 'customer';
  currency_id: number;
  direction: 'debit' | 'credit';
  amount: bigint;
  description: string | null;
}

/** A transaction of a workspace. */
export interface TransactionRef {
  readonly workspaceId: number;
  readonly transactionId: number;
}

export const MOVED = sqlStatement<MovedRow>(
  'transfers_to_return',
  `select t.workspace_id, t.transaction_id, t.account_id, a.kind, t.currency_id, t.direction, t.amount, t.description
   from unnest($1::bigint[], $2::bigint[]) u(w, i)
   cross join ${lookup('select * from leg l where l.workspace_id = u.w and l.transaction_id = u.i')} t
   join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
   where t.type <> 'fee'
   order by t.id`,
);

/**
 * The entries that return transactions: each of their transfers reversed, as type `return`, without the fee. The customer gets the full
 * debit in the account's own currency, and a conversion is reversed. The return of a return takes the money again.
 *
 * Transfers never change, so the entries may be made before the transactions are locked.
 *
 * @returns an entry for each transaction, in their order; undefined where there is no such transaction
 */
export async function returnEntries(
  database: Database,
  refs: readonly TransactionRef[],
): Promise<readonly (Entry | undefined)[]> {
  const workspaces = refs.map(({ workspaceId }) => workspaceId);
  const transactions = refs.map(({ transactionId }) => transactionId);
  const [rows] = await database.pipeline({ workspaces: [...new Set(workspaces)] }, [
    bind(MOVED, workspaces, transactions),
  ] as const);
  return refs.map((ref) =>
    entryOf(
      ref,
      rows.filter(
        ({ workspace_id, transaction_id }) =>
          Number(workspace_id) === ref.workspaceId && Number(transaction_id) === ref.transactionId,
      ),
    ),
  );
}

/** The entry that returns one transaction, as `returnEntries`. @throws Error if there is no such transaction */
export async function returnEntry(database: Database, workspaceId: number, transactionId: number): Promise<Entry> {
  const [entry] = await returnEntries(database, [{ workspaceId, transactionId }]);
  if (!entry) throw new Error(`there is no transaction ${transactionId} to return`);
  return entry;
}

function entryOf({ workspaceId, transactionId }: TransactionRef, moved: readonly MovedRow[]): Entry | undefined {
  const [first] = moved;
  if (!first) return undefined;
  const isReturn = moved.some(({ kind, direction }) => kind === 'customer' && direction === 'credit');
  const prefix = isReturn ? 'Reclaimed' : 'Returned';
  const legs = moved.map(({ account_id, kind, currency_id, direction, amount, description }): Leg => {
    const back = {
      currencyId: currency_id,
      direction: direction === 'debit' ? 'credit' : 'debit',
      amount: minorUnits(amount),
      type: 'return',
    } as const;
    if (kind !== 'customer') return { ...back, account: kind };
    const text = description === null ? undefined : `${prefix}: ${description}`;
    return { ...back, account: Number(account_id), description: text };
  });
  return { workspaceId, status: 'completed', returnOf: transactionId, legs };
}
