import { Refusal, type WebhookEndpointName } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';

/** The row stays for its deliveries, without its secrets. */
const DELETE_WEBHOOK_ENDPOINT = sqlStatement<{ id: bigint }>(
  'delete_webhook_endpoint',
  `with deleted as (
     update webhook_endpoint
     set deleted_at = statement_timestamp(), sealed_secret = null, previous_sealed_secret = null, previous_valid_until = null
     where workspace_id = $1 and id = $2 and deleted_at is null
     returning workspace_id, id),
   ended as (
     update webhook_delivery d set status = 'failed', next_attempt_at = null
     from deleted e where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.status = 'pending'),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $3::jsonb from deleted)
   select id from deleted`,
);

/** @throws Refusal `webhook_endpoint_not_found` also for a deleted endpoint */
export async function deleteWebhookEndpoint(
  database: Database,
  caller: AuditedCall,
  { webhookEndpointId }: WebhookEndpointName,
): Promise<void> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'deleteWebhookEndpoint', resource: { type: 'webhookEndpoint', id: webhookEndpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [deleted] = await database.write(scope, [
    bind(DELETE_WEBHOOK_ENDPOINT, workspaceId, webhookEndpointId, entriesOf(caller, audited)),
  ] as const);
  if (deleted.length === 0) throw new Refusal('webhook_endpoint_not_found');
}
