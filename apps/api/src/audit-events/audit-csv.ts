import type { AuditEvent } from '@banking/domain';
import { csvHead, csvRows } from '../http/csv.js';

const COLUMNS = [
  'id',
  'createdAt',
  'operation',
  'outcome',
  'reason',
  'count',
  'resourceType',
  'resourceId',
  'actorType',
  'userId',
  'issuer',
  'subject',
  'pseudonym',
  'tokenId',
  'clientId',
  'name',
  'operatingSystemUser',
  'requestId',
  'sourceAddress',
  'hash',
] as const;

/** The entries as a table, with a row of column names. Other fields of an upstream have no column. */
export const auditCsv = (events: readonly AuditEvent[]): string =>
  csvHead(COLUMNS) +
  csvRows(
    COLUMNS,
    events.map(({ resource, actor, ...event }) => {
      const { type: actorType, ...credential } = actor;
      return { ...event, resourceType: resource?.type, resourceId: resource?.id, actorType, ...credential };
    }),
  );
