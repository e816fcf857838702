import { Refusal, type RecipientId } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';

/** The row stays for its transfers. A trigger refuses further changes. */
const DELETE_RECIPIENT = sqlStatement<{ id: bigint }>(
  'delete_recipient',
  `with deleted as (
     update recipient set forgotten_at = statement_timestamp(), updated_at = statement_timestamp()
     where workspace_id = $1 and id = $2 and forgotten_at is null
     returning id),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $3::jsonb from deleted)
   select id from deleted`,
);

/** @throws Refusal `recipient_not_found` also for a deleted recipient */
export async function deleteRecipient(
  database: Database,
  caller: AuditedCall,
  recipientId: RecipientId,
): Promise<void> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'deleteRecipient', resource: { type: 'recipient', id: recipientId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [deleted] = await database.write(scope, [
    bind(DELETE_RECIPIENT, workspaceId, recipientId, entriesOf(caller, audited)),
  ] as const);
  if (deleted.length === 0) throw new Refusal('recipient_not_found');
}
