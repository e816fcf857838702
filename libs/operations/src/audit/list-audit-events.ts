import { type AuditEvent, type AuditQuery, type Page, Refusal, type WorkspaceId } from '@banking/domain';
import { AUDIT_EVENT_PAGE } from '../resources/compose-audit-event.js';
import type { RowFacts } from '../resources/compose-page.js';
import type { Reading } from '../resources/reading.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { pageByClass } from '../lists/page-query.js';
import { checkPeriod } from '../lists/period.js';

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
