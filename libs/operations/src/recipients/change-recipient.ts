import { Refusal, type Recipient, type RecipientChange } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import type { Reading } from '../resources/reading.js';
import { recipientQuery } from './get-recipient.js';

/** Fields that are not given keep their value. */
const CHANGE_RECIPIENT = sqlStatement(
  'change_recipient',
  `with changed as (
     update recipient set alias = coalesce($3, alias), saved = coalesce($4, saved), updated_at = statement_timestamp()
     where workspace_id = $1 and id = $2 and forgotten_at is null
       and (alias, saved) is distinct from (coalesce($3, alias), coalesce($4, saved))
     returning id)
   insert into audit_outbox (workspace_id, entries) select $1, $5::jsonb from changed`,
);

/** @throws Refusal `recipient_not_found` */
export async function changeRecipient(
  { database, reference }: Reading,
  caller: AuditedCall,
  { recipientId, alias, saved }: RecipientChange,
): Promise<Recipient> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'changeRecipient', resource: { type: 'recipient', id: recipientId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = recipientQuery(workspaceId, recipientId);
  const [, [row]] = await database.write(scope, [
    bind(CHANGE_RECIPIENT, workspaceId, recipientId, alias, saved, entriesOf(caller, audited)),
    bound,
  ] as const);
  if (!row) throw new Refusal('recipient_not_found');
  return composeChanged((current) => compose(current, row));
}
