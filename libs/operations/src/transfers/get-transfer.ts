import { Refusal, type Transfer, type TransferId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement, type Database } from '@banking/postgres';
import { WHOLE_TRANSFER } from '../resource-json.js';

const GET_TRANSFER = sqlStatement<{ resource: Transfer }>(
  'get_transfer',
  `select ${WHOLE_TRANSFER.item} as resource
   from transfer t ${WHOLE_TRANSFER.joins}
   where t.workspace_id = $1 and t.id = $2 and a.kind = 'customer'`,
);

export const transferRead = (workspaceId: number, transferId: number): BoundStatement<{ resource: Transfer }> =>
  bind(GET_TRANSFER, workspaceId, transferId);

/** @throws Refusal `transfer_not_found` also for a transfer of another workspace, and for one on an own account */
export async function getTransfer(
  database: Database,
  workspaceId: WorkspaceId,
  transferId: TransferId,
): Promise<Transfer> {
  const row = await database.read({ workspaces: [workspaceId] }, transferRead(workspaceId, transferId));
  if (!row) throw new Refusal('transfer_not_found');
  return row.resource;
}
