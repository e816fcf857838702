import { Refusal, type Account, type AccountId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { ACCOUNT, type AccountRow } from '../resources/compose-account.js';
import { type Reading, readResource, type ResourceQuery } from '../resources/reading.js';

const GET_ACCOUNT = sqlStatement<AccountRow>(
  'get_account',
  `select ${ACCOUNT.columns} from account t ${ACCOUNT.joins}
   where t.workspace_id = $1 and t.id = $2 and t.kind = 'customer'`,
);

export const accountQuery = (workspaceId: number, accountId: number): ResourceQuery<AccountRow, Account> => ({
  bound: bind(GET_ACCOUNT, workspaceId, accountId),
  compose: ACCOUNT.compose,
});

/** @throws Refusal `account_not_found` also for an account of another workspace, and for an own account */
export async function getAccount(reading: Reading, workspaceId: WorkspaceId, accountId: AccountId): Promise<Account> {
  const account = await readResource(reading, workspaceId, accountQuery(workspaceId, accountId));
  if (!account) throw new Refusal('account_not_found');
  return account;
}
