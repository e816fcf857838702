import { type Origin, Refusal, type UserId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import { callerOf } from './audited-call.js';
import { auditEntry, type AuditEntry } from './note-audit.js';

/** A request that was refused before it had a database transaction. */
export interface RefusedRequest {
  readonly workspaceId: WorkspaceId;
  readonly userId: UserId;
  readonly operation: string;
  readonly reason: string;
  readonly origin?: Origin | undefined;
}

/** Writes the entries of one workspace, in its database. */
export type WriteRefusals = (workspaceId: WorkspaceId, entries: readonly AuditEntry[]) => Promise<void>;

interface Counted {
  readonly request: RefusedRequest;
  readonly minute: number;
  count: number;
}

interface RefusedRequestsOptions {
  /** How many entries are held at a time. Default 500. */
  readonly entriesMax?: number;
  readonly nowMs?: () => number;
}

const MINUTE_MS = 60_000;

/** Counts refused requests by user, operation, workspace, reason and minute, so that a hostile caller cannot fill the audit trail. */
export class RefusedRequests {
  private counted = new Map<string, Counted>();
  private readonly entriesMax: number;
  private readonly nowMs: () => number;
  /** How many requests had no place in the count. */
  overflow = 0;

  constructor(
    private readonly write: WriteRefusals,
    { entriesMax = 500, nowMs = () => performance.now() }: RefusedRequestsOptions = {},
  ) {
    this.entriesMax = entriesMax;
    this.nowMs = nowMs;
  }

  add(request: RefusedRequest): void {
    const { workspaceId, userId, operation, reason } = request;
    const minute = Math.floor(this.nowMs() / MINUTE_MS);
    const key = JSON.stringify([workspaceId, userId, operation, reason, minute]);
    const known = this.counted.get(key);
    if (known) known.count += 1;
    else if (this.counted.size < this.entriesMax) this.counted.set(key, { request, minute, count: 1 });
    else this.overflow += 1;
  }

  /**
   * Writes the entries of past minutes, or at the end of the process all. What is written is not counted again. After a refusal, such
   * as `unavailable`, a later call writes the entries.
   *
   * @throws the errors of `write`, the first of them
   */
  async flush({ isLast = false }: { readonly isLast?: boolean } = {}): Promise<void> {
    const now = Math.floor(this.nowMs() / MINUTE_MS);
    const due = [...this.counted].filter(([, { minute }]) => isLast || minute < now);
    const byWorkspace = new Map<WorkspaceId, [string, Counted][]>();
    for (const one of due) {
      const { workspaceId } = one[1].request;
      byWorkspace.set(workspaceId, [...(byWorkspace.get(workspaceId) ?? []), one]);
    }
    const results = await Promise.allSettled(
      [...byWorkspace].map(async ([workspaceId, all]) => {
        // They are removed before they are written, so that two calls do not write them twice.
        for (const [key] of all) this.counted.delete(key);
        try {
          await this.write(
            workspaceId,
            all.map(([, counted]) => entryOf(counted)),
          );
        } catch (error) {
          if (error instanceof Refusal) for (const [key, counted] of all) this.counted.set(key, counted);
          throw error;
        }
      }),
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

function entryOf({ request, count }: Counted): AuditEntry {
  const { workspaceId, userId: actor, operation, reason, origin } = request;
  // Requests of several connections are counted together.
  const { sourceAddress: _, tokenId: __, ...credential } = origin ?? {};
  const caller = callerOf({ workspaceId, actor, origin: credential });
  return auditEntry(workspaceId, { operation, reason }, { ...caller, count });
}

/** Nothing is written for a workspace that does not exist: callers choose its id. */
const NOTE_REFUSALS = sqlStatement(
  'note_refusals',
  `insert into audit_outbox (workspace_id, entries) select w.id, $2::jsonb from workspace w where w.id = $1`,
);

/** Writes refusals to the database that has the workspace. @throws Refusal `unavailable` */
export async function noteRefusals(
  database: Database,
  workspaceId: WorkspaceId,
  entries: readonly AuditEntry[],
): Promise<void> {
  const json = `[${entries.map((entry) => entry.json).join(',')}]`;
  await database.pipeline({ workspaces: [workspaceId] }, [bind(NOTE_REFUSALS, workspaceId, json)] as const);
}
