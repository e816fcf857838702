import { Refusal, type AccountId, type RecipientId, type WorkspaceId } from '@banking/domain';
import { bind, statement } from '@banking/postgres';
import type { Named } from './list-page.js';

const FIND_ACCOUNT = statement(
  'find_account',
  `select from account where workspace_id = $1 and id = $2 and kind = 'customer'`,
);
const FIND_RECIPIENT = statement('find_recipient', 'select from recipient where workspace_id = $1 and id = $2');

/** The account and the recipient that filters name, which must be the workspace's; a recipient also after it was forgotten. */
export function namedParties(
  workspaceId: WorkspaceId,
  {
    accountId,
    recipientId,
  }: { readonly accountId?: AccountId | undefined; readonly recipientId?: RecipientId | undefined },
): readonly Named[] {
  const named: Named[] = [];
  if (accountId !== undefined) {
    named.push({ bound: bind(FIND_ACCOUNT, workspaceId, accountId), otherwise: new Refusal('account_not_found') });
  }
  if (recipientId !== undefined) {
    named.push({
      bound: bind(FIND_RECIPIENT, workspaceId, recipientId),
      otherwise: new Refusal('recipient_not_found'),
    });
  }
  return named;
}
