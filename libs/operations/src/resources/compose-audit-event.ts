import type { AuditActor, AuditEvent, AuditEventId, UserId } from '@banking/domain';
import { column, type Columns, packed, unpacking } from './columns.js';
import { pageOfRows } from './compose-page.js';
import { timestampOf } from './timestamp-of.js';
import { withoutNulls } from './without-nulls.js';

interface AuditEventRow {
  readonly id: number;
  readonly operation: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly count: number;
  readonly resourceType: string | null;
  readonly resourceId: number | null;
  readonly userId: number | null;
  readonly actor: Omit<AuditActor, 'userId'>;
  readonly requestId: string | null;
  readonly sourceAddress: string | null;
  readonly createdAt: string;
  readonly hash: string;
}

const COLUMNS: Columns<AuditEventRow> = {
  id: column('id'),
  operation: column('operation'),
  outcome: column('outcome'),
  reason: column('reason'),
  count: column('count'),
  resourceType: column('resource_type'),
  resourceId: column('resource_id'),
  userId: column('user_id'),
  actor: column('actor'),
  requestId: column('request_id'),
  sourceAddress: column('source_address'),
  createdAt: column('created_at'),
  hash: column('hash'),
};

function composeAuditEvent(row: AuditEventRow): AuditEvent {
  const { type, ...credential } = row.actor;
  return withoutNulls<AuditEvent>({
    id: row.id as AuditEventId,
    createdAt: timestampOf(row.createdAt),
    operation: row.operation,
    outcome: row.outcome,
    reason: row.reason,
    count: row.count === 1 ? null : row.count,
    resource: row.resourceType === null ? null : { type: row.resourceType, id: row.resourceId! },
    actor: { type, ...(row.userId !== null && { userId: row.userId as UserId }), ...credential },
    requestId: row.requestId,
    sourceAddress: row.sourceAddress,
    hash: row.hash,
  });
}

export const AUDIT_EVENT_PAGE = pageOfRows(
  { packed: packed(COLUMNS, 't'), joins: '', rowOf: unpacking(COLUMNS) },
  (_, row) => composeAuditEvent(row),
);
