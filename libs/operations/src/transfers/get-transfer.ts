import { Refusal, type Transfer, type TransferId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { TRANSFER, type TransferFacts } from '../resources/compose-whole-transfer.js';
import { type Reading, readResource, type ResourceQuery } from '../resources/reading.js';

const GET_TRANSFER = sqlStatement<TransferFacts>(
  'get_transfer',
  `select ${TRANSFER.columns} from transfer t ${TRANSFER.joins}
   where t.workspace_id = $1 and t.id = $2 and t.account_version is not null and a.kind = 'customer'`,
);

export const transferQuery = (workspaceId: number, transferId: number): ResourceQuery<TransferFacts, Transfer> => ({
  bound: bind(GET_TRANSFER, workspaceId, transferId),
  compose: TRANSFER.compose,
});

/** @throws Refusal `transfer_not_found` also for a transfer of another workspace, and for one on an own account */
export async function getTransfer(
  reading: Reading,
  workspaceId: WorkspaceId,
  transferId: TransferId,
): Promise<Transfer> {
  const transfer = await readResource(reading, workspaceId, transferQuery(workspaceId, transferId));
  if (!transfer) throw new Refusal('transfer_not_found');
  return transfer;
}
