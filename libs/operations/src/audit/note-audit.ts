import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { callerOf, type AuditedCall } from './audited-call.js';

/** The resource that an operation changed. */
export interface AuditedResource {
  readonly type: string;
  readonly id: number;
}

/** An entry of a workspace, as JSON. */
export interface AuditEntry {
  readonly workspaceId: number;
  readonly json: string;
}

/** Inserts in the order of the workspaces, so that two batches cannot deadlock. */
const NOTE_AUDIT = sqlStatement(
  'note_audit',
  `insert into audit_outbox (workspace_id, entries)
   select w, entries::jsonb from unnest($1::bigint[], $2::text[]) u(w, entries) order by w`,
);

/** What an operation has done, in its own words. */
export interface AuditedChange {
  readonly operation: string;
  readonly resource?: AuditedResource | undefined;
  /** The reason of a failure that is recorded, such as that of a run. Without it, the operation was carried out. */
  readonly reason?: string | undefined;
}

/** @param by the part of the entry that says who acted: `callerOf` or `BY_SYSTEM` */
export function auditEntry(
  workspaceId: number,
  { operation, resource, reason }: AuditedChange,
  by: Readonly<Record<string, unknown>>,
): AuditEntry {
  const outcome = reason === undefined ? 'done' : 'refused';
  const json = JSON.stringify({
    operation,
    outcome,
    reason,
    resourceType: resource?.type,
    resourceId: resource?.id,
    ...by,
  });
  return { workspaceId, json };
}

/** The entry of a change by a caller, as the array that a row of the outbox holds. For an SQL statement that changes and notes in one. */
export const entriesOf = (call: AuditedCall, change: AuditedChange): string =>
  `[${auditEntry(call.workspaceId, change, callerOf(call)).json}]`;

/** Writes entries of the audit trail, in the database transaction of the change: one row for each workspace. */
export function noteAudit(entries: readonly AuditEntry[]): BoundStatement<unknown> {
  const byWorkspace = new Map<number, string[]>();
  for (const { workspaceId, json } of entries) {
    const of = byWorkspace.get(workspaceId);
    if (of) of.push(json);
    else byWorkspace.set(workspaceId, [json]);
  }
  return bind(
    NOTE_AUDIT,
    [...byWorkspace.keys()],
    [...byWorkspace.values()].map((all) => `[${all.join(',')}]`),
  );
}
