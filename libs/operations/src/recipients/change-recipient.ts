import { Refusal, type Recipient, type RecipientChange, type UserId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { Reading } from '../resources/reading.js';
import { recipientQuery } from './get-recipient.js';

/** Fields that are not given keep their value. */
const CHANGE_RECIPIENT = sqlStatement(
  'change_recipient',
  `update recipient set alias = coalesce($3, alias), saved = coalesce($4, saved), updated_at = statement_timestamp()
   where workspace_id = $1 and id = $2 and forgotten_at is null
     and (alias, saved) is distinct from (coalesce($3, alias), coalesce($4, saved))`,
);

/** @throws Refusal `recipient_not_found` */
export async function changeRecipient(
  { database, reference }: Reading,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  { recipientId, alias, saved }: RecipientChange,
): Promise<Recipient> {
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = recipientQuery(workspaceId, recipientId);
  const [, [row]] = await database.write(scope, [
    bind(CHANGE_RECIPIENT, workspaceId, recipientId, alias, saved),
    bound,
  ] as const);
  if (!row) throw new Refusal('recipient_not_found');
  return composeChanged((current) => compose(current, row));
}
