import type { AuditEvent, AuditQuery, WorkspaceId } from '@banking/domain';
import { auditEntry, callerOf, listAuditEvents, noteAudit, openReading } from '@banking/operations';
import type { BoundStatement, Database } from '@banking/postgres';
import type { Operator } from './trail.js';

/** What an operator has changed in a workspace. */
interface OperatorChange {
  readonly workspaceId: number;
  readonly operation: string;
  readonly resource: { readonly type: string; readonly id: number };
}

/** Writes changes of an operator to the audit trails of their workspaces, in the database transaction of the changes. */
export const notesOf =
  (operator: Operator) =>
  (changes: readonly OperatorChange[]): BoundStatement<unknown> =>
    noteAudit(
      changes.map(({ workspaceId, ...change }) => {
        const caller = { workspaceId: workspaceId as WorkspaceId, actor: undefined, origin: { operator } };
        return auditEntry(workspaceId, change, callerOf(caller));
      }),
    );

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
