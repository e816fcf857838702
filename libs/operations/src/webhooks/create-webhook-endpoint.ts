import {
  Refusal,
  WEBHOOK_ENDPOINTS_MAX,
  type Created,
  type CreateWebhookEndpointInput,
  type RequestOptions,
  type WebhookEndpoint,
  type WebhookEndpointWithSecret,
} from '@banking/domain';
import { bind, sqlStatement, type DbTransaction } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { createOnce } from '../idempotency/create-once.js';
import type { WebhookEndpointRow } from '../resources/compose-webhook-endpoint.js';
import type { Reading } from '../resources/reading.js';
import { webhookEndpointQuery } from './get-webhook-endpoint.js';
import { newSecret } from './webhook-secret.js';
import { checkUrl, requireTerms, type WebhookTerms } from './webhook-terms.js';

/** Held to the end of the database transaction, so that endpoints of a workspace are counted and added one at a time. */
const LOCK_ENDPOINTS = sqlStatement(
  'lock_webhook_endpoints',
  `select pg_advisory_xact_lock(hashtextextended(jsonb_build_array('webhook endpoints', $1::bigint)::text, 0))`,
);
/** A query of its own under the lock, so that it reads what the earlier holder committed. */
const NEXT_ENDPOINT = sqlStatement<{ id: bigint; count: number }>(
  'next_webhook_endpoint',
  `select nextval('webhook_endpoint_id_seq') as id,
          (select count(*)::int from webhook_endpoint e where e.workspace_id = $1 and e.deleted_at is null) as count`,
);
/** The endpoint begins behind the last event that is recorded. */
const ADD_ENDPOINT = sqlStatement(
  'add_webhook_endpoint',
  `insert into webhook_endpoint (workspace_id, id, url, types, description, sealed_secret, created_by, cursor_event_id)
   values ($1, $2, $3, $4, $5, $6, $7,
     coalesce((select e.id from event e where e.workspace_id = $1 order by e.id desc limit 1), 0))`,
);

/**
 * Creates an endpoint with a new secret. The response that is stored for the key has no secret.
 *
 * @throws Refusal `webhooks_unavailable`, `webhook_url_refused`, `webhook_endpoint_limit`, and those of `createOnce`
 */
export async function createWebhookEndpoint(
  reading: Reading,
  caller: AuditedCall,
  { url, types = [], description }: CreateWebhookEndpointInput,
  options: RequestOptions,
  given: WebhookTerms | undefined,
): Promise<Created<WebhookEndpointWithSecret>> {
  const terms = requireTerms(given);
  checkUrl(terms, url);
  const { workspaceId, actor } = caller;
  const content = { url, types: [...types], ...(description !== undefined && { description }) };
  const request = { workspaceId, operation: 'createWebhookEndpoint', content };
  const { plain, secret } = newSecret();
  let createdId: number | undefined;
  const created = await createOnce<WebhookEndpointRow, WebhookEndpoint>(
    reading,
    request,
    options,
    caller,
    async (tx) => {
      const endpointId = await nextEndpoint(tx, workspaceId);
      createdId = endpointId;
      const sealed = terms.sealer.seal(plain, { workspaceId, endpointId });
      const fields = [url, [...types], description, sealed, actor];
      return {
        writes: [bind(ADD_ENDPOINT, workspaceId, endpointId, ...fields)],
        audited: { type: 'webhookEndpoint', id: endpointId },
        resource: webhookEndpointQuery(workspaceId, endpointId),
      };
    },
  );
  const { resource, isReplay } = created;
  // After a lost connection, the endpoint of the key may be that of another request.
  const isOurs = !isReplay && resource.id === createdId;
  return isOurs ? { resource: { ...resource, secret }, isReplay } : created;
}

/** @throws Refusal `webhook_endpoint_limit` */
async function nextEndpoint(tx: DbTransaction, workspaceId: number): Promise<number> {
  const [, [next]] = await tx.pipeline([bind(LOCK_ENDPOINTS, workspaceId), bind(NEXT_ENDPOINT, workspaceId)] as const);
  if (next!.count >= WEBHOOK_ENDPOINTS_MAX) throw new Refusal('webhook_endpoint_limit');
  return Number(next!.id);
}
