import { Refusal, type RecipientId, type UserId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** The row stays for its transfers. A trigger refuses further changes. */
const DELETE_RECIPIENT = sqlStatement<{ id: bigint }>(
  'delete_recipient',
  `update recipient set forgotten_at = statement_timestamp(), updated_at = statement_timestamp()
   where workspace_id = $1 and id = $2 and forgotten_at is null
   returning id`,
);

/** @throws Refusal `recipient_not_found` also for a deleted recipient */
export async function deleteRecipient(
  database: Database,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  recipientId: RecipientId,
): Promise<void> {
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [deleted] = await database.write(scope, [bind(DELETE_RECIPIENT, workspaceId, recipientId)] as const);
  if (deleted.length === 0) throw new Refusal('recipient_not_found');
}
