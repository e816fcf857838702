import { createHmac } from 'node:crypto';
import type { Origin, UserId, WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import { callerOf } from './audited-call.js';
import { auditEntry, type AuditEntry } from './note-audit.js';
import type { CountedRefusals } from './refused-requests.js';

/** The keys of several databases are the same, so a pseudonym stays when its workspace moves. */
const READ_KEY = sqlStatement<{ key: Buffer }>('read_pseudonym_key', `select key from seal where name = 'cursor'`);
const FIND_WORKSPACE = sqlStatement<{ id: bigint }>('find_workspace', 'select id from workspace where id = $1');
/** Nothing is written for a workspace that was removed meanwhile. */
const NOTE_REFUSALS = sqlStatement(
  'note_refusals',
  `insert into audit_outbox (workspace_id, entries) select w.id, $2::jsonb from workspace w where w.id = $1`,
);

/** Whether the database has the workspace. @throws Refusal `unavailable` */
export async function hasWorkspace(database: Database, workspaceId: WorkspaceId): Promise<boolean> {
  const [rows] = await database.pipeline({ workspaces: [workspaceId] }, [bind(FIND_WORKSPACE, workspaceId)] as const);
  return rows.length > 0;
}

/** Writes refusals to the database that has the workspace. @throws Refusal `unavailable` */
export async function noteRefusals(
  database: Database,
  workspaceId: WorkspaceId,
  refused: readonly CountedRefusals[],
): Promise<void> {
  const [[row]] = await database.pipeline({}, [bind(READ_KEY)] as const);
  if (!row) throw new Error('the table seal has no key');
  const json = `[${refused.map((one) => entryOf(workspaceId, one, row.key).json).join(',')}]`;
  await database.pipeline({ workspaces: [workspaceId] }, [bind(NOTE_REFUSALS, workspaceId, json)] as const);
}

function entryOf(workspaceId: WorkspaceId, { request, count }: CountedRefusals, key: Buffer): AuditEntry {
  const { isMember, userId, operation, reason, origin } = request;
  const by = isMember
    ? callerOf({ workspaceId, actor: userId, origin: credentialOf(origin) })
    : { actor: { type: 'user', pseudonym: pseudonymOf(key, workspaceId, userId) } };
  return auditEntry(workspaceId, { operation, reason }, { ...by, count });
}

/** Requests of several connections and tokens are counted together. */
const credentialOf = ({ sourceAddress: _, tokenId: __, ...credential }: Origin = {}): Origin => credential;

/**
 * Names a user of another tenant to the administrators of a workspace: always the same, nothing can be learned from it without the key,
 * and another workspace has another one.
 */
function pseudonymOf(key: Buffer, workspaceId: WorkspaceId, userId: UserId): string {
  const own = createHmac('sha256', key).update('pseudonyms of the audit trail').digest();
  return createHmac('sha256', own).update(`${workspaceId}/${userId}`).digest('hex').slice(0, 32);
}
