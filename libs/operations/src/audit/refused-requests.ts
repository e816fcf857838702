import { createHmac } from 'node:crypto';
import { type Origin, Refusal, type UserId, type WorkspaceId } from '@banking/domain';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { auditEntry, type AuditEntry, callerOf } from './audited-call.js';

/** A request that was refused before it had a database transaction. */
export interface RefusedRequest {
  /** The workspace that the request names. Undefined if that is not to be looked up. */
  readonly workspaceId?: WorkspaceId | undefined;
  /** Whether the user has a role in the workspace. Otherwise the id may be invented. */
  readonly isMember: boolean;
  readonly userId: UserId;
  readonly operation: string;
  readonly reason: string;
  readonly origin?: Origin | undefined;
}

/** Requests of one user to one operation of a workspace that exists, refused for one reason within a minute. */
interface CountedRefusals {
  readonly request: RefusedRequest;
  readonly count: number;
}

/** Where the counts are written. Each throws Refusal `unavailable`. */
export interface RefusalStore {
  exists(workspaceId: WorkspaceId): Promise<boolean>;
  write(workspaceId: WorkspaceId, refused: readonly CountedRefusals[]): Promise<void>;
}

interface Counted extends CountedRefusals {
  readonly workspaceId: WorkspaceId;
  readonly minute: number;
  count: number;
}

/** How many counts of a user are held at a time: fewer if those of all users are many. */
const OF_USER_MAX = 500;

const OF_USER_MIN = 20;
const OF_ALL_MAX = 20_000;

/** How many look-ups of one user wait. One runs at a time. */
const LOOK_UPS_MAX = 200;

/** How many workspaces are written at a time. */
const WRITES_MAX = 8;

const MINUTE_MS = 60_000;

/**
 * Counts refused requests by user, workspace, operation, reason and minute, so that a hostile caller cannot fill the audit trail. Only
 * workspaces that exist are counted. All other requests of a user have one count, so that no caller can fill the counts of others.
 */
export class RefusedRequests {
  private readonly counts = new Map<UserId, Map<string, Counted>>();
  private readonly lookUps = new Map<UserId, { waiting: number; last: Promise<void> }>();
  private uncounted = new Map<UserId, number>();
  private held = 0;
  private failure: unknown;

  constructor(
    private readonly store: RefusalStore,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  add(request: RefusedRequest): void {
    const { workspaceId, userId, operation, reason, isMember } = request;
    if (workspaceId === undefined) return this.leaveOut(userId);
    const minute = this.minute();
    const key = JSON.stringify([workspaceId, operation, reason, minute]);
    const known = this.counts.get(userId)?.get(key);
    if (known) known.count += 1;
    else if (isMember) this.hold(key, { request, workspaceId, minute, count: 1 });
    else this.lookUp(key, { request, workspaceId, minute, count: 1 });
  }

  /** How many requests of each user are in no audit trail, since the last call. */
  takeUncounted(): ReadonlyMap<UserId, number> {
    const taken = this.uncounted;
    this.uncounted = new Map();
    return taken;
  }

  /**
   * Writes the counts of past minutes, or at the end of the process all. What is written is not counted again. After a refusal, such
   * as `unavailable`, a later call writes them.
   *
   * @throws the errors of the store, the first of them
   */
  async flush({ isLast = false }: { readonly isLast?: boolean } = {}): Promise<void> {
    if (isLast) await Promise.all([...this.lookUps.values()].map(({ last }) => last));
    const byWorkspace = this.takeDue(isLast);
    let { failure } = this;
    this.failure = undefined;
    const writeNext = async () => {
      for (let next = byWorkspace.shift(); next !== undefined; next = byWorkspace.shift()) {
        const [workspaceId, due] = next;
        try {
          await this.store.write(
            workspaceId,
            due.map(([, counted]) => counted),
          );
        } catch (error) {
          failure ??= error;
          if (error instanceof Refusal) for (const [key, counted] of due) this.hold(key, counted);
        }
      }
    };
    await Promise.all(Array.from({ length: WRITES_MAX }, writeNext));
    if (failure !== undefined) throw failure as Error;
  }

  /** They are removed before they are written, so that two calls do not write them twice. */
  private takeDue(isLast: boolean): [WorkspaceId, [string, Counted][]][] {
    const now = this.minute();
    const due = new Map<WorkspaceId, [string, Counted][]>();
    for (const [userId, counts] of this.counts) {
      for (const [key, counted] of counts) {
        if (!isLast && counted.minute >= now) continue;
        counts.delete(key);
        this.held -= 1;
        const of = due.get(counted.workspaceId);
        if (of) of.push([key, counted]);
        else due.set(counted.workspaceId, [[key, counted]]);
      }
      if (counts.size === 0) this.counts.delete(userId);
    }
    return [...due];
  }

  private hold(key: string, counted: Counted): void {
    const { userId } = counted.request;
    const counts = this.counts.get(userId) ?? new Map<string, Counted>();
    const known = counts.get(key);
    if (known) known.count += counted.count;
    else if (counts.size >= (this.held < OF_ALL_MAX ? OF_USER_MAX : OF_USER_MIN)) this.leaveOut(userId, counted.count);
    else {
      this.counts.set(userId, counts.set(key, counted));
      this.held += 1;
    }
  }

  private leaveOut(userId: UserId, requests = 1): void {
    this.uncounted.set(userId, (this.uncounted.get(userId) ?? 0) + requests);
  }

  /** Looks up one workspace of a user after the other, so that invented ids take one connection at most. */
  private lookUp(key: string, counted: Counted): void {
    const { userId } = counted.request;
    const queue = this.lookUps.get(userId) ?? { waiting: 0, last: Promise.resolve() };
    if (queue.waiting >= LOOK_UPS_MAX) return this.leaveOut(userId);
    queue.waiting += 1;
    this.lookUps.set(userId, queue);
    queue.last = queue.last.then(async () => {
      const exists = await this.store.exists(counted.workspaceId).catch((error: unknown) => {
        this.failure ??= error;
        return false;
      });
      if (exists) this.hold(key, counted);
      else this.leaveOut(userId);
      queue.waiting -= 1;
      if (queue.waiting === 0) this.lookUps.delete(userId);
    });
  }

  private minute(): number {
    return Math.floor(this.nowMs() / MINUTE_MS);
  }
}

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
