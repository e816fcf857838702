import { Refusal, type Account, type AccountId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement, type Database } from '@banking/postgres';
import { WHOLE_ACCOUNT } from '../resource-json.js';

const GET_ACCOUNT = sqlStatement<{ resource: Account }>(
  'get_account',
  `select ${WHOLE_ACCOUNT.item} as resource from account t ${WHOLE_ACCOUNT.joins}
   where t.workspace_id = $1 and t.id = $2 and t.kind = 'customer'`,
);

export const accountRead = (workspaceId: number, accountId: number): BoundStatement<{ resource: Account }> =>
  bind(GET_ACCOUNT, workspaceId, accountId);

/** @throws Refusal `account_not_found` also for an account of another workspace, and for an own account */
export async function getAccount(database: Database, workspaceId: WorkspaceId, accountId: AccountId): Promise<Account> {
  const row = await database.read({ workspaces: [workspaceId] }, accountRead(workspaceId, accountId));
  if (!row) throw new Refusal('account_not_found');
  return row.resource;
}
