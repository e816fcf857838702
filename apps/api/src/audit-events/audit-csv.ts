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
  'resourceID',
  'actorType',
  'userID',
  'issuer',
  'subject',
  'pseudonym',
  'tokenID',
  'clientID',
  'name',
  'operatingSystemUser',
  'requestID',
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
      return { ...event, resourceType: resource?.type, resourceID: resource?.id, actorType, ...credential };
    }),
  );
