import { Refusal, type AccountId, type PlainNumber, type RecipientId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { Named } from './list-page.js';

const FIND_ACCOUNT = sqlStatement(
  'find_account',
  `select from account where workspace_id = $1 and id = $2 and kind = 'customer'`,
);
const FIND_RECIPIENT = sqlStatement('find_recipient', 'select from recipient where workspace_id = $1 and id = $2');

/** Queries for the account and the recipient that filters name. They must be of the workspace. The recipient may be deleted. */
export function namedParties(
  workspaceId: WorkspaceId,
  {
    accountId,
    recipientId,
  }: {
    readonly accountId?: AccountId | PlainNumber | undefined;
    readonly recipientId?: RecipientId | PlainNumber | undefined;
  },
): readonly Named[] {
  const named: Named[] = [];
  if (accountId !== undefined) {
    named.push({ bound: bind(FIND_ACCOUNT, workspaceId, accountId), refusal: new Refusal('account_not_found') });
  }
  if (recipientId !== undefined) {
    named.push({
      bound: bind(FIND_RECIPIENT, workspaceId, recipientId),
      refusal: new Refusal('recipient_not_found'),
    });
  }
  return named;
}
