import type { Page, PageQuery, WebhookEndpoint, WorkspaceId } from '@banking/domain';
import type { RowFacts } from '../resources/compose-page.js';
import { WEBHOOK_ENDPOINT_PAGE } from '../resources/compose-webhook-endpoint.js';
import type { Reading } from '../resources/reading.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';

/** The app role cannot read the sealed secrets, so the columns are named. */
const READ = ['id', 'url', 'types', 'description', 'status', 'disabled_reason'];

const WEBHOOK_ENDPOINTS: PagedList<RowFacts, WebhookEndpoint> = {
  name: 'list_webhook_endpoints',
  table: 'webhook_endpoint',
  indexes: [{ where: 'l.deleted_at is null' }],
  classes: {},
  filters: {},
  page: ({ table, range, after, rest }) =>
    `page as materialized (
      select ${[...READ, 'failing_since', 'created_at'].map((name) => `l.${name}`).join(', ')}
      from ${table} l where ${[...range, ...after, ...rest].join(' and ')} order by l.created_at desc, l.id desc limit $2)`,
  items: WEBHOOK_ENDPOINT_PAGE,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listWebhookEndpoints(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<WebhookEndpoint>> {
  return listPage(reading, WEBHOOK_ENDPOINTS, { workspaceId, limit, cursor, filters: {} });
}
