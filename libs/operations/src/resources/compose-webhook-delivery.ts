import type { EventId, WebhookAttempt, WebhookDelivery, WebhookDeliveryId } from '@banking/domain';
import { column, type Columns, packed, selected, unpacking } from './columns.js';
import { pageOfRows } from './compose-page.js';
import { timestampOf } from './timestamp-of.js';
import { withoutNulls } from './without-nulls.js';

export interface WebhookDeliveryRow {
  readonly id: bigint | number;
  readonly eventId: bigint | number | null;
  readonly eventType: string;
  readonly kind: string;
  readonly status: string;
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
  readonly lastAttemptAt: string | null;
  readonly lastDurationMs: number | null;
  readonly lastResponseStatus: number | null;
  readonly lastResponse: string | null;
  readonly lastError: string | null;
  readonly createdAt: string;
}

const COLUMNS: Columns<WebhookDeliveryRow> = {
  id: column('id'),
  eventId: column('event_id'),
  eventType: column('event_type'),
  kind: column('kind'),
  status: column('status'),
  attempts: column('attempts'),
  nextAttemptAt: column('next_attempt_at'),
  lastAttemptAt: column('last_attempt_at'),
  lastDurationMs: column('last_duration_ms'),
  lastResponseStatus: column('last_response_status'),
  lastResponse: column('last_response'),
  lastError: column('last_error'),
  createdAt: column('created_at'),
};

/** The columns of a delivery `t`. */
export const WEBHOOK_DELIVERY_COLUMNS = selected(COLUMNS, 't');

export const composeWebhookDelivery = (row: WebhookDeliveryRow): WebhookDelivery =>
  withoutNulls<WebhookDelivery>({
    id: Number(row.id) as WebhookDeliveryId,
    eventID: row.eventId === null ? null : (Number(row.eventId) as EventId),
    eventType: row.eventType,
    kind: row.kind,
    status: row.status,
    attempts: row.attempts,
    nextAttemptAt: row.nextAttemptAt === null ? null : timestampOf(row.nextAttemptAt),
    lastAttempt: lastAttemptOf(row),
    createdAt: timestampOf(row.createdAt),
  });

function lastAttemptOf({ lastAttemptAt, ...row }: WebhookDeliveryRow): WebhookAttempt | null {
  if (lastAttemptAt === null) return null;
  return withoutNulls<WebhookAttempt>({
    at: timestampOf(lastAttemptAt),
    durationMs: row.lastDurationMs!,
    responseStatus: row.lastResponseStatus,
    response: row.lastResponse,
    error: row.lastError,
  });
}

export const WEBHOOK_DELIVERY_PAGE = pageOfRows(
  { packed: packed(COLUMNS, 't'), joins: '', rowOf: unpacking(COLUMNS) },
  (_, row) => composeWebhookDelivery(row),
);
