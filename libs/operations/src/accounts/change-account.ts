import { Refusal, type Account, type AccountChange } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import type { Reading } from '../resources/reading.js';
import { accountQuery } from './get-account.js';

/** Fields that are not given keep their value. A trigger writes the audit trail. */
const CHANGE_ACCOUNT = sqlStatement(
  'change_account',
  `with changed as (
     update account set alias = coalesce($3, alias), status = coalesce($4, status), updated_at = statement_timestamp()
     where workspace_id = $1 and id = $2 and kind = 'customer'
       and (alias, status) is distinct from (coalesce($3, alias), coalesce($4, status))
     returning id)
   insert into audit_outbox (workspace_id, entries) select $1, $5::jsonb from changed`,
);

/** @throws Refusal `account_not_found` */
export async function changeAccount(
  { database, reference }: Reading,
  caller: AuditedCall,
  { accountId, alias, status }: AccountChange,
): Promise<Account> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'changeAccount', resource: { type: 'account', id: accountId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = accountQuery(workspaceId, accountId);
  const [, [row]] = await database.write(scope, [
    bind(CHANGE_ACCOUNT, workspaceId, accountId, alias, status, entriesOf(caller, audited)),
    bound,
  ] as const);
  if (!row) throw new Refusal('account_not_found');
  return composeChanged((current) => compose(current, row));
}
