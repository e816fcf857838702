import { Refusal, type Recipient, type RecipientId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement, type Database } from '@banking/postgres';
import { WHOLE_RECIPIENT } from '../resource-json.js';

const GET_RECIPIENT = sqlStatement<{ resource: Recipient }>(
  'get_recipient',
  `select ${WHOLE_RECIPIENT.item} as resource from recipient t ${WHOLE_RECIPIENT.joins}
   where t.workspace_id = $1 and t.id = $2 and t.forgotten_at is null`,
);

export const recipientRead = (workspaceId: number, recipientId: number): BoundStatement<{ resource: Recipient }> =>
  bind(GET_RECIPIENT, workspaceId, recipientId);

/** @throws Refusal `recipient_not_found` also for a recipient of another workspace and for a deleted one */
export async function getRecipient(
  database: Database,
  workspaceId: WorkspaceId,
  recipientId: RecipientId,
): Promise<Recipient> {
  const row = await database.read({ workspaces: [workspaceId] }, recipientRead(workspaceId, recipientId));
  if (!row) throw new Refusal('recipient_not_found');
  return row.resource;
}
