import { Refusal, type WebhookDelivery, type WebhookDeliveryName } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import {
  composeWebhookDelivery,
  WEBHOOK_DELIVERY_COLUMNS,
  type WebhookDeliveryRow,
} from '../resources/compose-webhook-delivery.js';
import { counting, verdictOn } from './delivery-limits.js';

interface RetryFacts {
  readonly endpointStatus: string;
  readonly exceeds: boolean;
  /** Null if the endpoint has no such delivery. */
  readonly deliveryStatus: string | null;
}

/** No row without the endpoint, and an `id` of null if the delivery is not retried. */
const RETRY_WEBHOOK_DELIVERY = sqlStatement<RetryFacts & (WebhookDeliveryRow | { readonly id: null })>(
  'retry_webhook_delivery',
  `with endpoint as (
     select workspace_id, id, status from webhook_endpoint where workspace_id = $1 and id = $2 and deleted_at is null for key share),
   delivery as (
     select d.workspace_id, d.id, d.status, d.event_id from endpoint p
     join webhook_delivery d on d.workspace_id = p.workspace_id and d.endpoint_id = p.id and d.id = $3),
   ${verdictOn('1')},
   retried as (
     update webhook_delivery r set status = 'pending', next_attempt_at = statement_timestamp()
     from endpoint p, delivery d, verdict v
     where not v.exceeds and r.workspace_id = d.workspace_id and r.id = d.id and r.status <> 'delivered' and p.status <> 'disabled'
       and (d.event_id is null or exists (select from event e where e.workspace_id = d.workspace_id and e.id = d.event_id))
     returning r.*),
   ${counting('(select count(*) from retried)')},
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $4::jsonb from retried)
   select p.status as "endpointStatus", d.status as "deliveryStatus", v.exceeds, ${WEBHOOK_DELIVERY_COLUMNS}
   from endpoint p cross join verdict v left join delivery d on true left join retried t on true`,
);

/**
 * @throws Refusal `webhook_endpoint_not_found`, `webhook_delivery_not_found`, `webhook_endpoint_disabled`, `webhook_delivered`,
 *   `webhook_delivery_limit`, and
 *   `event_not_found` if the event was deleted because of its age
 */
export async function retryWebhookDelivery(
  database: Database,
  caller: AuditedCall,
  { webhookEndpointId, webhookDeliveryId }: WebhookDeliveryName,
): Promise<WebhookDelivery> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'retryWebhookDelivery', resource: { type: 'webhookDelivery', id: webhookDeliveryId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [[row]] = await database.write(scope, [
    bind(RETRY_WEBHOOK_DELIVERY, workspaceId, webhookEndpointId, webhookDeliveryId, entriesOf(caller, audited)),
  ] as const);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  if (row.id !== null) return composeWebhookDelivery(row);
  if (row.exceeds) throw new Refusal('webhook_delivery_limit');
  if (row.endpointStatus === 'disabled') throw new Refusal('webhook_endpoint_disabled');
  if (row.deliveryStatus === null) throw new Refusal('webhook_delivery_not_found');
  throw new Refusal(row.deliveryStatus === 'delivered' ? 'webhook_delivered' : 'event_not_found');
}
