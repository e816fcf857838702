import type { AuditEvent, AuditQuery, WorkspaceId } from '@banking/domain';
import { auditEntry, noteAudit } from '../audit/note-audit.js';
import { callerOf } from '../audit/audited-call.js';
import { listAuditEvents } from '../audit/list-audit-events.js';
import { openReading } from '../resources/reading.js';
import { bind, sqlStatement, type BoundStatement, type Database } from '@banking/postgres';
import type { Operator } from './trail.js';
import { workspacesHere } from './workspaces.js';

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

/** The lock of a scope, because a command that only reads a cell does not take it. The state is read behind it. */
const LOCK_PLACES = sqlStatement(
  'lock_places_of_workspaces',
  'select pg_advisory_xact_lock_shared(workspace_lock_key(w.id)) from unnest($1::bigint[]) w(id)',
);
const NOTE_WHERE_SERVED = sqlStatement(
  'note_audit_where_served',
  `insert into audit_outbox (workspace_id, entries)
   select w.id, $2::jsonb from unnest($1::bigint[]) w(id)
   where not exists (select from cell_identity)
     or exists (select from cell_workspace c where c.workspace_id = w.id and c.state = 'open')
   order by w.id`,
);
const WORKSPACES_OF_USER = sqlStatement<{ id: bigint }>(
  'workspaces_of_user',
  'select workspace_id as id from workspace_role where user_id = $1 order by 1',
);

/** What an operator has read or issued, which changes no rows. */
interface OperatorUse {
  readonly operation: 'exportBooks' | 'exportAuditTrail' | 'issueToken';
  readonly resource: { readonly type: 'workspace' | 'user'; readonly id: number };
}

/** Writes an entry into the audit trails of those workspaces that the database serves. */
async function noteUse(
  database: Database,
  operator: Operator,
  ids: readonly number[],
  use: OperatorUse,
): Promise<void> {
  if (ids.length === 0) return;
  const workspaceId = ids[0] as WorkspaceId;
  const { json } = auditEntry(workspaceId, use, callerOf({ workspaceId, actor: undefined, origin: { operator } }));
  await database.pipeline({ workspaces: ids }, [bind(LOCK_PLACES, ids), bind(NOTE_WHERE_SERVED, ids, `[${json}]`)]);
}

/** Writes an export to the audit trail of its workspace. Call it before the first line is written. @throws Refusal `unavailable` */
export const noteExport = (
  database: Database,
  operator: Operator,
  operation: 'exportBooks' | 'exportAuditTrail',
  workspaceId: WorkspaceId,
): Promise<void> =>
  noteUse(database, operator, [workspaceId], { operation, resource: { type: 'workspace', id: workspaceId } });

/**
 * Writes a token that the local issuer signs for a user to the audit trails of the workspaces in which the user has a role. Call it
 * before the token is printed.
 *
 * @throws Refusal `unavailable`
 */
export async function noteToken(database: Database, operator: Operator, userId: number): Promise<void> {
  const [rows] = await database.pipeline({ user: userId }, [bind(WORKSPACES_OF_USER, userId)] as const);
  const here = new Set((await workspacesHere(database)).map(({ id }) => id));
  const ids = rows.map(({ id }) => Number(id)).filter((id) => here.has(id));
  await noteUse(database, operator, ids, { operation: 'issueToken', resource: { type: 'user', id: userId } });
}

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
