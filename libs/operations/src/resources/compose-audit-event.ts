import type { AuditActor, AuditEvent, AuditEventId, UserId } from '@banking/domain';
import { column, type Columns, packed, unpacking } from './columns.js';
import { pageOfRows } from './compose-page.js';
import { timestampOf } from './timestamp-of.js';
import { withoutNulls } from './without-nulls.js';

/** Who acted, as it is stored. The user is a column. */
type StoredActor = Omit<AuditActor, 'userID' | 'tokenID' | 'clientID'> & {
  readonly tokenId?: string;
  readonly clientId?: string;
};

interface AuditEventRow {
  readonly id: number;
  readonly operation: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly count: number;
  readonly resourceType: string | null;
  readonly resourceId: number | null;
  readonly userId: number | null;
  readonly actor: StoredActor;
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
  return withoutNulls<AuditEvent>({
    id: row.id as AuditEventId,
    createdAt: timestampOf(row.createdAt),
    operation: row.operation,
    outcome: row.outcome,
    reason: row.reason,
    count: row.count === 1 ? null : row.count,
    resource: row.resourceType === null ? null : { type: row.resourceType, id: row.resourceId! },
    actor: actorOf(row),
    requestID: row.requestId,
    sourceAddress: row.sourceAddress,
    hash: row.hash,
  });
}

function actorOf({ userId, actor: { type, tokenId, clientId, ...rest } }: AuditEventRow): AuditActor {
  return {
    type,
    ...(userId !== null && { userID: userId as UserId }),
    ...rest,
    ...(tokenId !== undefined && { tokenID: tokenId }),
    ...(clientId !== undefined && { clientID: clientId }),
  };
}

/** SQL of an entry `e`, and what reads it. */
export const PACKED_AUDIT_EVENT = packed(COLUMNS, 'e');
const rowOf = unpacking(COLUMNS);
export const auditEventOf = (values: readonly unknown[]): AuditEvent => composeAuditEvent(rowOf(values));

export const AUDIT_EVENT_PAGE = pageOfRows({ packed: packed(COLUMNS, 't'), joins: '', rowOf }, (_, row) =>
  composeAuditEvent(row),
);
