import { Refusal, type WebhookEndpoint, type WebhookEndpointChange } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import { composeWebhookEndpoint } from '../resources/compose-webhook-endpoint.js';
import type { Reading } from '../resources/reading.js';
import { webhookEndpointQuery } from './get-webhook-endpoint.js';
import { checkUrl, requireTerms, type WebhookTerms } from './webhook-terms.js';

/**
 * Fields that are not given keep their value. An endpoint that is enabled keeps its cursor, is due at once, begins without failures, and
 * belongs to the caller. One that is disabled already keeps the reason.
 */
const CHANGE_WEBHOOK_ENDPOINT = sqlStatement(
  'change_webhook_endpoint',
  `with changed as (
     update webhook_endpoint set url = coalesce($3, url), types = coalesce($4::text[], types), description = coalesce($5, description),
       status = coalesce($6, status),
       disabled_reason = case when $6 = 'enabled' then null when $6 = 'disabled' then coalesce(disabled_reason, 'user') else disabled_reason end,
       created_by = case when $6 = 'enabled' and status = 'disabled' then coalesce($8, created_by) else created_by end,
       consecutive_failures = case when $6 = 'enabled' then 0 else consecutive_failures end,
       paused_until = case when $6 = 'enabled' then null else paused_until end,
       failing_since = case when $6 = 'enabled' or $6 = 'disabled' and status <> 'disabled' then null else failing_since end
     where workspace_id = $1 and id = $2 and deleted_at is null
       and (url, types, description, status)
         is distinct from (coalesce($3, url), coalesce($4::text[], types), coalesce($5, description), coalesce($6, status))
     returning id)
   insert into audit_outbox (workspace_id, entries) select $1, $7::jsonb from changed`,
);

/** @throws Refusal `webhook_endpoint_not_found`; `webhooks_unavailable`, `webhook_url_refused` for an address */
export async function changeWebhookEndpoint(
  { database }: Reading,
  caller: AuditedCall,
  { webhookEndpointId, url, types, description, status }: WebhookEndpointChange,
  terms: WebhookTerms | undefined,
): Promise<WebhookEndpoint> {
  if (url !== undefined) checkUrl(requireTerms(terms), url);
  const { workspaceId, actor } = caller;
  const audited = { operation: 'changeWebhookEndpoint', resource: { type: 'webhookEndpoint', id: webhookEndpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const fields = [url, types && [...types], description, status, entriesOf(caller, audited), actor];
  const [, [row]] = await database.write(scope, [
    bind(CHANGE_WEBHOOK_ENDPOINT, workspaceId, webhookEndpointId, ...fields),
    webhookEndpointQuery(workspaceId, webhookEndpointId).bound,
  ] as const);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  return composeWebhookEndpoint(row);
}
