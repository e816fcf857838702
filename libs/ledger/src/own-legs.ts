import { lookup } from '@banking/postgres';
import type { OwnAccountKind } from './proposal.js';

/**
 * SQL of the legs of a transaction on our own accounts of a kind, for a `from` or a join. They are looked up for each row that they are
 * joined to: the planner joins nothing to one side of the view `leg`, and would read it whole.
 *
 * @param transaction its name, in SQL
 */
export const ownLegsOf = (
  kind: OwnAccountKind,
  transaction: { readonly workspaceId: string; readonly id: string },
): string =>
  lookup(`select l.direction, l.currency_id, l.amount from leg l
    where l.workspace_id = ${transaction.workspaceId} and l.transaction_id = ${transaction.id}
      and (select o.kind from account o where o.workspace_id = l.workspace_id and o.id = l.account_id) = '${kind}'`);
