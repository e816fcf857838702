import { Refusal, type WebhookEndpointName, type WebhookEndpointWithSecret } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { callerOf, type AuditedCall } from '../audit/audited-call.js';
import { auditEntry, noteAudit } from '../audit/note-audit.js';
import { composeWebhookEndpoint } from '../resources/compose-webhook-endpoint.js';
import type { Reading } from '../resources/reading.js';
import { webhookEndpointQuery } from './get-webhook-endpoint.js';
import { newSecret } from './webhook-secret.js';
import { requireTerms, type WebhookTerms } from './webhook-terms.js';

const LOCK_ENDPOINT = sqlStatement(
  'lock_webhook_endpoint',
  `select from webhook_endpoint where workspace_id = $1 and id = $2 and deleted_at is null for no key update`,
);
/** The function copies the former secret, which the app role cannot read. */
const ROTATE_SECRET = sqlStatement('rotate_webhook_secret', 'select rotate_webhook_secret($1, $2)');

/** @throws Refusal `webhooks_unavailable`, `webhook_endpoint_not_found` */
export async function rotateWebhookSecret(
  { database }: Reading,
  caller: AuditedCall,
  { webhookEndpointId: endpointId }: WebhookEndpointName,
  given: WebhookTerms | undefined,
): Promise<WebhookEndpointWithSecret> {
  const { sealer } = requireTerms(given);
  const { workspaceId, actor } = caller;
  const audited = { operation: 'rotateWebhookSecret', resource: { type: 'webhookEndpoint', id: endpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  return database.transaction(scope, async (tx) => {
    const [[endpoint]] = await tx.pipeline([bind(LOCK_ENDPOINT, workspaceId, endpointId)] as const);
    if (!endpoint) throw new Refusal('webhook_endpoint_not_found');
    const { plain, secret } = newSecret();
    const [, , [row]] = await tx.commit([
      bind(ROTATE_SECRET, endpointId, sealer.seal(plain, { workspaceId, endpointId })),
      noteAudit([auditEntry(workspaceId, audited, callerOf(caller))]),
      webhookEndpointQuery(workspaceId, endpointId).bound,
    ] as const);
    return { ...composeWebhookEndpoint(row!), secret };
  });
}
