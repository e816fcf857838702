import { Refusal, type Transfer, type TransferId, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';
import { accountJson, recipientJson, resource, transactionJson, transferJson } from './edges.js';

const edges = `'recipient', ${recipientJson('r', 'b', 'n', 'rc')}, 'transaction', ${transactionJson('x', 'm')}`;

const GET_TRANSFER = statement<{ transfer: Transfer }>(
  'get_transfer',
  `select ${resource(transferJson('t', accountJson('a', 'p', 'c'), edges))} as transfer
   from transfer t
   join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
   join product p on p.id = a.product_id
   join currency c on c.id = a.currency_id
   join transaction x on (x.workspace_id, x.id) = (t.workspace_id, t.transaction_id)
   left join remittance m on (m.workspace_id, m.transaction_id) = (x.workspace_id, x.id)
   left join recipient r on (r.workspace_id, r.id) = (t.workspace_id, t.recipient_id)
   left join bank b on b.id = r.bank_id
   left join beneficiary n on (n.workspace_id, n.recipient_id) = (r.workspace_id, r.id)
   left join currency rc on rc.id = r.currency_id
   where t.workspace_id = $1 and t.id = $2 and a.kind = 'customer'`,
);

/** @throws Refusal `transfer_not_found` also for a transfer of another workspace, and for one on an account of our own */
export async function getTransfer(
  database: Database,
  workspaceId: WorkspaceId,
  transferId: TransferId,
): Promise<Transfer> {
  const row = await database.read({ workspaces: [workspaceId] }, bind(GET_TRANSFER, workspaceId, transferId));
  if (!row) throw new Refusal('transfer_not_found');
  return row.transfer;
}
