import type { WebhookEndpoint, WebhookEndpointId } from '@banking/domain';
import { column, type Columns, packed, selected, unpacking } from './columns.js';
import { pageOfRows } from './compose-page.js';
import { timestampOf } from './timestamp-of.js';
import { withoutNulls } from './without-nulls.js';

export interface WebhookEndpointRow {
  readonly id: bigint | number;
  readonly url: string;
  readonly types: readonly string[];
  readonly description: string | null;
  readonly status: string;
  readonly disabledReason: string | null;
  readonly failingSince: string | null;
  readonly createdAt: string;
}

/** No secret is among them. */
const COLUMNS: Columns<WebhookEndpointRow> = {
  id: column('id'),
  url: column('url'),
  types: column('types'),
  description: column('description'),
  status: column('status'),
  disabledReason: column('disabled_reason'),
  failingSince: column('failing_since'),
  createdAt: column('created_at'),
};

/** The columns of an endpoint `t`. */
export const WEBHOOK_ENDPOINT_COLUMNS = selected(COLUMNS, 't');

export const composeWebhookEndpoint = (row: WebhookEndpointRow): WebhookEndpoint =>
  withoutNulls<WebhookEndpoint>({
    id: Number(row.id) as WebhookEndpointId,
    url: row.url,
    types: row.types,
    description: row.description,
    status: row.status,
    disabledReason: row.disabledReason,
    failingSince: row.failingSince === null ? null : timestampOf(row.failingSince),
    createdAt: timestampOf(row.createdAt),
  });

export const WEBHOOK_ENDPOINT_PAGE = pageOfRows(
  { packed: packed(COLUMNS, 't'), joins: '', rowOf: unpacking(COLUMNS) },
  (_, row) => composeWebhookEndpoint(row),
);
