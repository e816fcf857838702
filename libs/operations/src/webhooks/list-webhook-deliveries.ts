import { Refusal, type Page, type WebhookDelivery, type WebhookDeliveryQuery, type WorkspaceId } from '@banking/domain';
import type { RowFacts } from '../resources/compose-page.js';
import { WEBHOOK_DELIVERY_PAGE } from '../resources/compose-webhook-delivery.js';
import type { Reading } from '../resources/reading.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { pageByClass } from '../lists/page-query.js';
import { webhookEndpointQuery } from './get-webhook-endpoint.js';

const WEBHOOK_DELIVERIES: PagedList<RowFacts, WebhookDelivery> = {
  name: 'list_webhook_deliveries',
  table: 'webhook_delivery',
  indexes: [{ filter: 'endpointId', where: 'l.id >= 1' }, { where: 'l.id >= 1' }],
  classes: { status: 'text' },
  filters: { endpointId: (id) => `l.endpoint_id = ${id}::bigint` },
  page: pageByClass,
  items: WEBHOOK_DELIVERY_PAGE,
};

/** @throws Refusal `webhook_endpoint_not_found`, `limit_invalid`, `cursor_invalid` */
export function listWebhookDeliveries(
  reading: Reading,
  workspaceId: WorkspaceId,
  { webhookEndpointId: endpointId, status, limit, cursor }: WebhookDeliveryQuery,
): Promise<Page<WebhookDelivery>> {
  const { bound } = webhookEndpointQuery(workspaceId, endpointId);
  return listPage(reading, WEBHOOK_DELIVERIES, {
    workspaceId,
    limit,
    cursor,
    filters: { endpointId, status },
    named: [{ bound, refusal: new Refusal('webhook_endpoint_not_found') }],
  });
}
