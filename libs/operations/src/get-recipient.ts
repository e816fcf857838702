import { Refusal, type Recipient, type RecipientId, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Bound, type Database } from '@banking/postgres';
import { WHOLE_RECIPIENT } from './edges.js';

const GET_RECIPIENT = statement<{ resource: Recipient }>(
  'get_recipient',
  `select ${WHOLE_RECIPIENT.item} as resource from recipient t ${WHOLE_RECIPIENT.joins}
   where t.workspace_id = $1 and t.id = $2 and t.forgotten_at is null`,
);

export const recipientRead = (workspaceId: number, recipientId: number): Bound<{ resource: Recipient }> =>
  bind(GET_RECIPIENT, workspaceId, recipientId);

/** @throws Refusal `recipient_not_found` also for one of another workspace, and for one that was forgotten */
export async function getRecipient(
  database: Database,
  workspaceId: WorkspaceId,
  recipientId: RecipientId,
): Promise<Recipient> {
  const row = await database.read({ workspaces: [workspaceId] }, recipientRead(workspaceId, recipientId));
  if (!row) throw new Refusal('recipient_not_found');
  return row.resource;
}
