import type { AuditEvent, AuditQuery, WorkspaceId } from '@banking/domain';
import { auditEntry, callerOf, noteAudit } from '../audit/audited-call.js';
import { checkPeriod } from '../lists/paged-list.js';
import { auditEventOf, PACKED_AUDIT_EVENT } from '../audit/list-audit-events.js';
import { bind, sqlStatement, type BoundStatement, type Database } from '@banking/postgres';
import { workspacesHere } from './workspaces.js';

/** What an operator has changed in a workspace. */
interface OperatorChange {
  readonly workspaceId: number;
  readonly operation: string;
  readonly resource: { readonly type: string; readonly id: number };
}

/** Who called, as a part of an entry of an operator. */
const byOperator = (workspaceId: number): Readonly<Record<string, unknown>> =>
  callerOf({ workspaceId: workspaceId as WorkspaceId, actor: undefined, origin: { isOperator: true } });

/** Writes changes of an operator to the audit trails of their workspaces, in the database transaction of the changes. */
export const noteOperatorChanges = (changes: readonly OperatorChange[]): BoundStatement<unknown> =>
  noteAudit(changes.map(({ workspaceId, ...change }) => auditEntry(workspaceId, change, byOperator(workspaceId))));

/** The lock of a scope, because a command that only reads a cell does not take it. The state is read behind it. */
const LOCK_PLACES = sqlStatement(
  'lock_places_of_workspaces',
  'select pg_advisory_xact_lock_shared(workspace_lock_key(w.id)) from unnest($1::bigint[]) w(id)',
);
const NOTE_WHERE_SERVED = sqlStatement(
  'note_audit_where_served',
  `insert into audit_outbox (workspace_id, entries)
   select w.id, $2::jsonb from unnest($1::bigint[]) w(id)
   where is_served_here(w.id)
   order by w.id`,
);
const WORKSPACES_OF_USER = sqlStatement<{ id: bigint }>(
  'workspaces_of_user',
  'select distinct workspace_id as id from workspace_role where user_id = $1 order by 1',
);

/** What an operator has read or issued, which changes no rows. */
interface OperatorUse {
  readonly operation: 'exportBooks' | 'exportAuditTrail' | 'exportPersonalData' | 'issueToken';
  readonly resource: {
    readonly type: 'workspace' | 'user' | 'recipient' | 'deposit' | 'approval';
    readonly id: number;
  };
}

/** Writes an entry into the audit trails of those workspaces that the database serves. */
async function noteUse(database: Database, ids: readonly number[], use: OperatorUse): Promise<void> {
  const [first] = ids;
  if (first === undefined) return;
  const { json } = auditEntry(first, use, byOperator(first));
  await database.pipeline({ workspaces: ids }, [bind(LOCK_PLACES, ids), bind(NOTE_WHERE_SERVED, ids, `[${json}]`)]);
}

/** Writes an export to the audit trail of its workspace. Call it before the first line is written. @throws Refusal `unavailable` */
export const noteExport = (
  database: Database,
  operation: 'exportBooks' | 'exportAuditTrail',
  workspaceId: WorkspaceId,
): Promise<void> => noteUse(database, [workspaceId], { operation, resource: { type: 'workspace', id: workspaceId } });

/** Writes an export of personal data to the audit trail of its workspace. Call it before the first line is written. @throws Refusal `unavailable` */
export const notePersonalDataExport = (
  database: Database,
  workspaceId: WorkspaceId,
  resource: { readonly type: 'recipient' | 'deposit' | 'approval'; readonly id: number },
): Promise<void> => noteUse(database, [workspaceId], { operation: 'exportPersonalData', resource });

/**
 * Writes a token that the local issuer signs for a user to the audit trails of the workspaces in which the user has a role. Call it
 * before the token is printed.
 *
 * @throws Refusal `unavailable`
 */
export async function noteToken(database: Database, userId: number): Promise<void> {
  const [rows] = await database.pipeline({ user: userId }, [bind(WORKSPACES_OF_USER, userId)] as const);
  const here = new Set((await workspacesHere(database)).map(({ id }) => id));
  const ids = rows.map(({ id }) => Number(id)).filter((id) => here.has(id));
  await noteUse(database, ids, { operation: 'issueToken', resource: { type: 'user', id: userId } });
}

const PAGE = 500;

/** A period is a range of ids, so that the chain of hashes has no gap: ids are in the order of recording, and times almost. */
const RANGE_OF_PERIOD = sqlStatement<{ first: bigint | null; last: bigint | null }>(
  'audit_events_of_period',
  `select (select e.id from audit_event e where e.workspace_id = $1 and ($2::timestamptz is null or e.created_at >= $2)
           order by e.id limit 1) as first,
          (select e.id from audit_event e where e.workspace_id = $1 and ($3::timestamptz is null or e.created_at < $3)
           order by e.id desc limit 1) as last`,
);
const AUDIT_EVENTS_BY_ID = sqlStatement<{ id: bigint; event: readonly unknown[] }>(
  'audit_events_by_id',
  `select e.id, ${PACKED_AUDIT_EVENT} as event from audit_event e
   where e.workspace_id = $1 and e.id >= $2 and e.id <= $3 order by e.id desc limit $4`,
);

/**
 * The audit trail of a workspace for an operator, from the last entry on, a page at a time. Each id between the first and the last is
 * there.
 *
 * @throws Refusal `timestamp_invalid` for a limit of the period that is no instant
 */
export async function* auditPages(
  database: Database,
  workspaceId: WorkspaceId,
  { from, to }: Pick<AuditQuery, 'from' | 'to'>,
): AsyncGenerator<readonly AuditEvent[], void, undefined> {
  checkPeriod({ createdFrom: from, createdTo: to }, ['from', 'to']);
  const scope = { workspaces: [workspaceId] };
  const range = await database.read(scope, bind(RANGE_OF_PERIOD, workspaceId, from ?? null, to ?? null));
  if (range?.first == null || range.last === null) return;
  const { first } = range;
  for (let { last } = range; last !== null && last >= first;) {
    const [rows] = await database.pipeline(scope, [bind(AUDIT_EVENTS_BY_ID, workspaceId, first, last, PAGE)] as const);
    if (rows.length === 0) return;
    yield rows.map(({ event }) => auditEventOf(event));
    last = rows.at(-1)!.id - 1n;
  }
}
