import { Refusal, type WebhookEndpoint, type WebhookEndpointName, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { Reading, ResourceQuery } from '../resources/reading.js';
import {
  composeWebhookEndpoint,
  WEBHOOK_ENDPOINT_COLUMNS,
  type WebhookEndpointRow,
} from '../resources/compose-webhook-endpoint.js';

const GET_WEBHOOK_ENDPOINT = sqlStatement<WebhookEndpointRow>(
  'get_webhook_endpoint',
  `select ${WEBHOOK_ENDPOINT_COLUMNS} from webhook_endpoint t where t.workspace_id = $1 and t.id = $2 and t.deleted_at is null`,
);

export const webhookEndpointQuery = (
  workspaceId: number,
  endpointId: number,
): ResourceQuery<WebhookEndpointRow, WebhookEndpoint> => ({
  bound: bind(GET_WEBHOOK_ENDPOINT, workspaceId, endpointId),
  compose: (_, row) => composeWebhookEndpoint(row),
});

/** @throws Refusal `webhook_endpoint_not_found` also for a deleted endpoint, and for one of another workspace */
export async function getWebhookEndpoint(
  { database }: Reading,
  workspaceId: WorkspaceId,
  { webhookEndpointId }: WebhookEndpointName,
): Promise<WebhookEndpoint> {
  const { bound } = webhookEndpointQuery(workspaceId, webhookEndpointId);
  const row = await database.readCoalesced({ workspaces: [workspaceId] }, bound);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  return composeWebhookEndpoint(row);
}
