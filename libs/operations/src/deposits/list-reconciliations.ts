import type { BankReconciliation, WorkspaceId } from '@banking/domain';
import { bind, lookup, sqlStatement } from '@banking/postgres';
import { timestampOf } from '../resources/columns.js';
import type { Reading } from '../resources/reading.js';

interface ReconciliationRow {
  readonly rail: string;
  readonly bank_account: string;
  readonly currency_id: number;
  readonly compared_at: string;
  readonly result: Omit<BankReconciliation, 'rail' | 'bankAccount' | 'comparedAt' | 'edges'>;
}

/** A code of RAILS_FILE may be in groups and in any case. */
const SUSPENSE_CODE = String.raw`upper(regexp_replace(r.suspense_account, '\s', '', 'g'))`;

/**
 * A bank account belongs to no workspace: its suspense account is one of the operator's own, and says in which workspace they are. Rows
 * of bank accounts without one are for the command only.
 */
const LIST_RECONCILIATIONS = sqlStatement<ReconciliationRow>(
  'list_reconciliations',
  `select r.rail, r.bank_account, c.id as currency_id, r.compared_at, r.result
   from bank_reconciliation r
   join currency c on c.code = r.currency
   cross join ${lookup(`select from account l where l.workspace_id = $1 and l.code = ${SUSPENSE_CODE}`)} a
   order by r.rail, r.bank_account, r.currency`,
);

/** How the bank accounts whose suspense account is in the workspace compare with the books, as the worker found last. */
export async function listReconciliations(
  { database, reference }: Pick<Reading, 'database' | 'reference'>,
  workspaceId: WorkspaceId,
): Promise<readonly BankReconciliation[]> {
  const [rows] = await database.pipeline({ workspaces: [workspaceId] }, [
    bind(LIST_RECONCILIATIONS, workspaceId),
  ] as const);
  return reference.compose((current) =>
    rows.map(({ rail, bank_account: bankAccount, currency_id: currencyId, compared_at: comparedAt, result }) => ({
      ...{ rail, bankAccount, comparedAt: timestampOf(comparedAt), ...result },
      edges: { currency: current.currency(currencyId) },
    })),
  );
}
