import {
  type AuditActor,
  type AuditEvent,
  type AuditEventId,
  type AuditQuery,
  type Page,
  Refusal,
  type ServiceAccountId,
  type ServiceAccountKeyId,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { listPage } from '../lists/list-page.js';
import { checkPeriod, pageByClass, type PagedList } from '../lists/paged-list.js';
import {
  column,
  type Columns,
  packed,
  type RowOf,
  timestampOf,
  unpacking,
  withoutNulls,
} from '../resources/columns.js';
import { pageOfColumns, type Reading, type RowFacts } from '../resources/reading.js';

const COLUMNS = {
  id: column<number>('id'),
  operation: column<string>('operation'),
  outcome: column<string>('outcome'),
  reason: column<string | null>('reason'),
  count: column<number>('count'),
  resourceType: column<string | null>('resource_type'),
  resourceId: column<number | null>('resource_id'),
  userId: column<number | null>('user_id'),
  actor: column<StoredActor>('actor'),
  requestId: column<string | null>('request_id'),
  sourceAddress: column<string | null>('source_address'),
  createdAt: column<string>('created_at'),
  hash: column<string>('hash'),
} satisfies Columns;

type AuditEventRow = RowOf<typeof COLUMNS>;

const rowOf = unpacking(COLUMNS);

const AUDIT_EVENT_PAGE = pageOfColumns(COLUMNS, composeAuditEvent);

const AUDIT_EVENTS: PagedList<RowFacts, AuditEvent> = {
  name: 'list_audit_events',
  table: 'audit_event',
  indexes: [
    { filter: 'resourceId', where: 'l.resource_id is not null' },
    { filter: 'actor', where: 'l.user_id is not null' },
    { where: 'l.id >= 1' },
  ],
  classes: { operation: 'text' },
  filters: {
    actor: (id) => `l.user_id = ${id}::bigint`,
    resourceType: (type) => `l.resource_type = ${type}::text`,
    resourceId: (id) => `l.resource_id = ${id}::bigint`,
    createdFrom: (from) => `l.created_at >= ${from}::timestamptz`,
    createdTo: (to) => `l.created_at < ${to}::timestamptz`,
  },
  page: pageByClass,
  items: AUDIT_EVENT_PAGE,
};

/** @throws Refusal as the port's `listAuditEvents` states */
export function listAuditEvents(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor, from: createdFrom, to: createdTo, ...filters }: AuditQuery,
): Promise<Page<AuditEvent>> {
  // No index finds the entries of a type: operations say as much.
  if (filters.resourceType !== undefined && filters.resourceId === undefined) {
    const message =
      'resourceType needs resourceId. To list the entries of all resources of a type, filter by operation.';
    throw new Refusal('parameter_invalid', message, {
      details: [{ path: 'resourceType', reason: 'parameter_invalid', message }],
    });
  }
  checkPeriod({ createdFrom, createdTo }, ['from', 'to']);
  return listPage(reading, AUDIT_EVENTS, {
    workspaceId,
    limit,
    cursor,
    filters: { ...filters, createdFrom, createdTo },
  });
}

/** Who acted, as it is stored. The user is a column. */
type StoredActor = Omit<AuditActor, 'userID' | 'serviceAccountID' | 'tokenID' | 'clientID' | 'keyID'> & {
  readonly tokenId?: string;
  readonly clientId?: string;
  readonly keyId?: ServiceAccountKeyId;
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

function actorOf({ userId, actor: { type, tokenId, clientId, keyId, ...rest } }: AuditEventRow): AuditActor {
  return {
    type,
    ...(userId !== null && idOfActor(type, userId)),
    ...(keyId !== undefined && { keyID: keyId }),
    ...rest,
    ...(tokenId !== undefined && { tokenID: tokenId }),
    ...(clientId !== undefined && { clientID: clientId }),
  };
}

const idOfActor = (type: AuditActor['type'], id: number) =>
  type === 'serviceAccount' ? { serviceAccountID: id as ServiceAccountId } : { userID: id as UserId };

/** SQL of an entry `e`, and what reads it. */
export const PACKED_AUDIT_EVENT = packed(COLUMNS, 'e');

export const auditEventOf = (values: readonly unknown[]): AuditEvent => composeAuditEvent(rowOf(values));
