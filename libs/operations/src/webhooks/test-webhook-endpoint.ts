import { Refusal, type WebhookDelivery, type WebhookEndpointName } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import {
  composeWebhookDelivery,
  WEBHOOK_DELIVERY_COLUMNS,
  type WebhookDeliveryRow,
} from '../resources/compose-webhook-delivery.js';
import { counting, verdictOn } from './delivery-limits.js';

/** No row without the endpoint, and an `id` of null if it is disabled or a limit is exceeded. */
const TEST_WEBHOOK_ENDPOINT = sqlStatement<
  { readonly exceeds: boolean } & (WebhookDeliveryRow | { readonly id: null })
>(
  'test_webhook_endpoint',
  `with endpoint as (
     select workspace_id, id, status from webhook_endpoint where workspace_id = $1 and id = $2 and deleted_at is null for key share),
   ${verdictOn('1')},
   added as (
     insert into webhook_delivery (workspace_id, endpoint_id, event_type, kind, next_attempt_at)
     select workspace_id, id, 'webhook.test', 'test', statement_timestamp() from endpoint, verdict where status <> 'disabled' and not exceeds
     returning *),
   ${counting('(select count(*) from added)')},
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $3::jsonb from added)
   select v.exceeds, ${WEBHOOK_DELIVERY_COLUMNS} from endpoint e cross join verdict v left join added t on true`,
);

/** @throws Refusal `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `webhook_delivery_limit` */
export async function testWebhookEndpoint(
  database: Database,
  caller: AuditedCall,
  { webhookEndpointId }: WebhookEndpointName,
): Promise<WebhookDelivery> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'testWebhookEndpoint', resource: { type: 'webhookEndpoint', id: webhookEndpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [[row]] = await database.write(scope, [
    bind(TEST_WEBHOOK_ENDPOINT, workspaceId, webhookEndpointId, entriesOf(caller, audited)),
  ] as const);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  if (row.id !== null) return composeWebhookDelivery(row);
  if (row.exceeds) throw new Refusal('webhook_delivery_limit');
  throw new Refusal('webhook_endpoint_disabled');
}
