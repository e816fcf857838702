import type { Origin, Scope, UserId, WorkspaceId } from '@banking/domain';
import { bind, type BoundStatement, sqlStatement } from '@banking/postgres';

/** The workspace and the actor of a change, and what the audit trail says of the call. */
export interface AuditedCall extends Pick<Scope, 'requestId' | 'origin'> {
  readonly workspaceId: WorkspaceId;
  readonly actor: UserId | undefined;
}

/** The longest text of a credential that is stored. */
const TEXT_MAX = 255;

/** PostgreSQL stores no NUL and no lone surrogate in JSON, and a reader could not see other control characters. */
const NOT_STORED = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;

const stored = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : text.slice(0, TEXT_MAX).replace(NOT_STORED, '\ufffd');

/** The actor as it is stored. Without a user and an operator, the service itself acts. The database adds the name of an operator. */
function actorOf(actor: UserId | undefined, origin: Origin | undefined): Readonly<Record<string, unknown>> {
  if (origin?.isOperator) return { type: 'operator' };
  if (actor === undefined) return SYSTEM;
  if (origin?.keyId !== undefined) return { type: 'serviceAccount', keyId: origin.keyId };
  return {
    type: 'user',
    issuer: stored(origin?.issuer),
    subject: stored(origin?.subject),
    tokenId: stored(origin?.tokenId),
    clientId: stored(origin?.clientId),
  };
}

const SYSTEM = { type: 'system' } as const;

/** Who called and from where, as a part of an entry. */
export const callerOf = ({ actor, requestId, origin }: AuditedCall): Readonly<Record<string, unknown>> => ({
  userId: actor,
  actor: actorOf(actor, origin),
  requestId: stored(requestId),
  sourceAddress: stored(origin?.sourceAddress),
});

/** A worker or the service itself, as a part of an entry. */
export const BY_SYSTEM: Readonly<Record<string, unknown>> = { actor: SYSTEM };

export interface ActingScope extends AuditedCall {
  readonly signal: AbortSignal | undefined;
}

/** A missing part of the scope is a programming error of the caller. */
export function required<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the scope lacks a workspace or an actor');
  return part;
}

/** The part of a scope that an operation that writes needs. */
export const acting = ({ workspaceId, actor, requestId, origin, signal }: Scope): ActingScope => ({
  workspaceId: required(workspaceId),
  actor,
  requestId,
  origin,
  signal,
});

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
interface AuditedChange {
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
