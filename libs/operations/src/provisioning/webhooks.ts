import type {
  WebhookDelivery,
  WebhookDeliveryId,
  WebhookDeliveryStatus,
  WebhookEndpointId,
  WorkspaceId,
} from '@banking/domain';
import { listWebhookDeliveries } from '../webhooks/list-webhook-deliveries.js';
import { openReading } from '../resources/reading.js';
import { retryWebhookDelivery } from '../webhooks/retry-webhook-delivery.js';
import type { Database } from '@banking/postgres';
import type { Operator } from './trail.js';

/** A webhook endpoint of a workspace. */
export interface EndpointOfWorkspace {
  readonly workspaceId: WorkspaceId;
  readonly endpointId: WebhookEndpointId;
}

const LIMIT = 100;

/**
 * The newest deliveries of an endpoint, at most 100.
 *
 * @throws Refusal `webhook_endpoint_not_found`
 */
export async function newestDeliveries(
  database: Database,
  { workspaceId, endpointId }: EndpointOfWorkspace,
  status: WebhookDeliveryStatus | undefined,
): Promise<readonly WebhookDelivery[]> {
  const query = { webhookEndpointId: endpointId, status, limit: LIMIT };
  return (await listWebhookDeliveries(openReading(database), workspaceId, query)).items;
}

/** Makes a delivery due now, for an operator. @throws Refusal as `retryWebhookDelivery` of the port */
export function retryDelivery(
  database: Database,
  operator: Operator,
  { workspaceId, endpointId }: EndpointOfWorkspace,
  webhookDeliveryId: WebhookDeliveryId,
): Promise<WebhookDelivery> {
  const caller = { workspaceId, actor: undefined, origin: { operator } };
  return retryWebhookDelivery(database, caller, { webhookEndpointId: endpointId, webhookDeliveryId });
}
