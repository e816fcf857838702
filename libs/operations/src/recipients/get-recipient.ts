import { Refusal, type Recipient, type RecipientId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { RECIPIENT, type RecipientFacts } from '../resources/compose-recipient.js';
import { type Reading, readResource, type ResourceQuery } from '../resources/reading.js';

const GET_RECIPIENT = sqlStatement<RecipientFacts>(
  'get_recipient',
  `select ${RECIPIENT.columns} from recipient t ${RECIPIENT.joins}
   where t.workspace_id = $1 and t.id = $2 and t.forgotten_at is null`,
);

export const recipientQuery = (workspaceId: number, recipientId: number): ResourceQuery<RecipientFacts, Recipient> => ({
  bound: bind(GET_RECIPIENT, workspaceId, recipientId),
  compose: RECIPIENT.compose,
});

/** @throws Refusal `recipient_not_found` also for a recipient of another workspace and for a deleted one */
export async function getRecipient(
  reading: Reading,
  workspaceId: WorkspaceId,
  recipientId: RecipientId,
): Promise<Recipient> {
  const recipient = await readResource(reading, workspaceId, recipientQuery(workspaceId, recipientId));
  if (!recipient) throw new Refusal('recipient_not_found');
  return recipient;
}
