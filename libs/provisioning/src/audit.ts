import type { AuditEvent, AuditQuery, WorkspaceId } from '@banking/domain';
import { listAuditEvents, openReading } from '@banking/operations';
import type { Database } from '@banking/postgres';

const PAGE = 500;

/**
 * The audit trail of a workspace for an operator, newest first, a page at a time.
 *
 * @throws Refusal `timestamp_invalid` for a limit of the period that is no instant
 */
export async function* auditPages(
  database: Database,
  workspaceId: WorkspaceId,
  period: Pick<AuditQuery, 'from' | 'to'>,
): AsyncGenerator<readonly AuditEvent[], void, undefined> {
  const reading = openReading(database);
  let cursor: string | undefined;
  do {
    const page = await listAuditEvents(reading, workspaceId, { ...period, limit: PAGE, cursor });
    yield page.items;
    cursor = page.next;
  } while (cursor !== undefined);
}
