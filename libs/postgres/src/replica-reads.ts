import { setTimeout as pause } from 'node:timers/promises';
import { bind, sqlStatement, type BoundStatement } from './sql-statement.js';
import { BatchedCalls } from './batched-calls.js';
import { isUnavailable, sqlstateOf } from './failures.js';
import { ReplicaConnection, type OpenReplica } from './replica-connection.js';
import { readIdentity, type ClusterIdentity } from './replica-identity.js';
import type { ConnectionOptions, PoolOptions } from './session-pool.js';
import type { BindScope, RlsScope } from './rls-scope.js';
import { SQLSTATE } from './sqlstate.js';

/** Which database transactions a snapshot shows: those below `xmax`, except the unfinished ones. */
interface Snapshot {
  readonly xmax: bigint;
  readonly unfinished: readonly bigint[];
}

/** What the primary had committed at one instant. */
interface WalPosition {
  /** The end of the flushed log. Every commit that the snapshot shows, so every acknowledged one, is before it. */
  readonly lsn: string;
  readonly timeline: string;
  readonly snapshot: Snapshot;
}

/** The commits that a read of the replica may have shown, beyond those before its position. */
interface ReplicaSnapshot {
  readonly xmax: bigint;
  /** Those that were unfinished in the position and are finished on the replica. */
  readonly finished: readonly bigint[];
}

/**
 * The snapshot is taken before the end of the log is read. A commit is flushed before a snapshot shows it, because no session commits
 * with `synchronous_commit = off` (session-setup.ts). The end of the inserted log would be too far: a replica does not get it before it
 * is flushed.
 */
const READ_POSITION = sqlStatement<{ lsn: string; timeline: string; snapshot: string }>(
  'wal_position',
  `select flushed::text as lsn, left(pg_walfile_name(flushed), 8) as timeline, pg_current_snapshot()::text as snapshot
   from (select pg_current_wal_flush_lsn() as flushed) f`,
);

/** The first statement of a pipeline on a replica. The later ones take their snapshots after it, because the isolation is READ COMMITTED. */
const CHECK_POSITION = sqlStatement<{ is_replica: boolean; is_current: boolean }>(
  'check_wal_position',
  'select pg_is_in_recovery() as is_replica, pg_last_wal_replay_lsn() >= $1::pg_lsn as is_current',
);

/**
 * The last statement of a pipeline on a replica. Only `xmax` of a snapshot on a replica is of use: it lists no unfinished transactions.
 * An id that the replica has not seen yet has no status, and `pg_xact_status` would reject it.
 */
const READ_SNAPSHOT = sqlStatement<{ xmax: string; finished: string | null }>(
  'replica_snapshot',
  `select pg_snapshot_xmax(pg_current_snapshot())::text as xmax,
     (select string_agg(id::text, ',') from unnest($1::xid8[]) id
      where case when id < pg_snapshot_xmax(pg_current_snapshot())
            then pg_xact_status(id) in ('in progress', 'aborted') is not true else false end) as finished`,
);

const readPosition = bind(READ_POSITION);

export function positionOf({
  lsn,
  timeline,
  snapshot,
}: {
  lsn: string;
  timeline: string;
  snapshot: string;
}): WalPosition {
  const [, xmax = '', unfinished = ''] = snapshot.split(':');
  return { lsn, timeline, snapshot: { xmax: BigInt(xmax), unfinished: idsOf(unfinished) } };
}

/** Asks a replica alone whether it has a position. */
const checkPosition = ({ lsn }: WalPosition) => bind(CHECK_POSITION, lsn);

/** @param rows the result of `checkPosition` */
const hasReached = (rows: readonly Record<string, unknown>[][]): boolean => rows[0]?.[0]?.['is_current'] === true;

/** The statements of a pipeline on a replica: whether it has a position, the reads, and what they may have shown beyond it. */
const readsAfter = (
  { lsn, snapshot }: WalPosition,
  reads: readonly BoundStatement<unknown>[],
): readonly BoundStatement<unknown>[] => [
  bind(CHECK_POSITION, lsn),
  ...reads,
  bind(READ_SNAPSHOT, snapshot.unfinished),
];

/** The result of `readsAfter`. */
interface ReadsAfter {
  /** False once the server has been promoted. */
  readonly isReplica: boolean;
  readonly isCurrent: boolean;
  readonly rows: readonly Record<string, unknown>[][];
  readonly snapshot: ReplicaSnapshot;
}

function readsOf(rows: readonly Record<string, unknown>[][]): ReadsAfter {
  const [check] = rows[0] as [{ is_replica: boolean; is_current: boolean | null }];
  const [last] = rows.at(-1) as [{ xmax: string; finished: string | null }];
  return {
    isReplica: check.is_replica,
    isCurrent: check.is_current === true,
    rows: rows.slice(1, -1),
    snapshot: { xmax: BigInt(last.xmax), finished: idsOf(last.finished ?? '') },
  };
}

/**
 * Whether the primary shows every commit that a read of the replica may have shown.
 *
 * A replica shows a commit as soon as it has its record. The primary shows it later: when its own process has noted it, and with
 * synchronous replication only when a standby has confirmed it. Without this check, a list could show an order that a read of this order
 * does not find, and that a failover loses.
 *
 * @param before the position that the replica has, with the snapshot from which the commits of `seen` are counted
 */
export function isShownByPrimary({ xmax, unfinished }: Snapshot, before: Snapshot, seen: ReplicaSnapshot): boolean {
  if (xmax < seen.xmax) return false;
  return !unfinished.some((id) => seen.finished.includes(id) || (id >= before.xmax && id < seen.xmax));
}

const idsOf = (text: string): bigint[] => (text === '' ? [] : text.split(',').map(BigInt));

/** A streaming replica for reads. */
export interface ReplicaOptions {
  readonly connection: ConnectionOptions;
  /** Called when reads move to the replica, or back to the primary with the reason. */
  readonly onChange?: ((isUsed: boolean, reason?: string) => void) | undefined;
  /** Called when the replica rejected reads that the primary then served: once for each reason. */
  readonly onRejected?: ((reason: string) => void) | undefined;
  /** The time in milliseconds, for specs. Default: of this process. */
  readonly nowMs?: () => number;
}

/** Reads of the primary, which says what the replica must have. */
interface Primary {
  readonly send: (call: BoundStatement<unknown>) => Promise<readonly Record<string, unknown>[]>;
}

/** The delays before the tries of a read on a replica that is behind, and of the comparison with the primary: 18 ms in all. */
const DELAYS_MS = [0, 2, 4, 12] as const;
/** For how long the primary reads without a try after a replica was behind for all of them, or too slow. */
const BEHIND_MS = 1_000;
/** For how long a replica is behind before that is reported. */
const BEHIND_REPORT_MS = 10_000;
/** Limits on the replica: the primary reads after them, and the caller waits for both. */
const LIMITS = { acquireTimeoutMs: 1_000, statementTimeoutMs: 1_000, lockTimeoutMs: 200 };
/** Time limits of the replica. */
const SLOW: ReadonlySet<string> = new Set([SQLSTATE.queryCanceled, SQLSTATE.lockNotAvailable]);
/** Positions are the same for all callers, so that one statement serves as many as wait. */
const CALLERS_MAX = 10_000;

/**
 * Reads on a streaming replica that are as current as reads of the primary.
 *
 * A read asks the primary first how far its log is, in a statement that all reads share that arrived before it was sent. The replica is
 * read if it has replayed that much. Every commit that was acknowledged before the read, by any process, is in its result.
 */
export class ReplicaReads {
  private readonly replica: ReplicaConnection;
  private readonly positions: BatchedCalls<undefined, WalPosition>;
  private behindUntilMs = -Infinity;
  private behindSinceMs: number | undefined;
  private reported: 'used' | 'away' | 'behind' | undefined;
  private readonly rejections = new Set<string>();

  constructor(
    pool: Omit<PoolOptions, 'connection'>,
    private readonly bindScope: BindScope,
    primary: Primary,
    private readonly options: ReplicaOptions,
  ) {
    const { connection, nowMs } = options;
    this.positions = new BatchedCalls(async (calls) => {
      // Not a DatabaseError: the statement is the same for all callers, so that none is tried alone.
      const failed = (cause: unknown) => Promise.reject(new Error('the primary gave no position', { cause }));
      const [row] = await primary.send(readPosition).catch(failed);
      const position = positionOf(row as { lsn: string; timeline: string; snapshot: string });
      return calls.map(() => position);
    }, CALLERS_MAX);
    this.replica = new ReplicaConnection({
      pool: { ...pool, ...LIMITS, isPooled: false, connection },
      identify: async () => (await primary.send(readIdentity))[0] as unknown as ClusterIdentity,
      onOpen: () => this.report('used'),
      onClose: (reason) => this.report('away', reason),
      nowMs,
    });
  }

  /** Tries to connect. Never throws. */
  connect(): Promise<void> {
    return this.replica.connect();
  }

  end(): Promise<void> {
    return this.replica.end();
  }

  /**
   * Reads on the replica.
   *
   * @returns the rows of each statement; undefined if the primary must read, because the replica is away or behind, or failed
   */
  async read(
    scope: RlsScope,
    bound: readonly BoundStatement<unknown>[],
  ): Promise<readonly Record<string, unknown>[][] | undefined> {
    const replica = this.replica.current();
    if (replica === undefined || this.nowMs() < this.behindUntilMs) return undefined;
    const position = await this.positionNow();
    if (position === undefined) return undefined;
    try {
      if (position.timeline !== replica.identity.timeline) {
        this.replica.leave(replica, 'the primary has changed its timeline, as after a failover');
        return undefined;
      }
      return await this.readAfter(replica, position, [this.bindScope(scope), ...bound]);
    } catch (error) {
      // The primary reads, and reports an error that is not one of the replica.
      this.noteFailure(replica, error);
      return undefined;
    }
  }

  /** Undefined if the primary fails, which then reports that to the caller. */
  private positionNow(): Promise<WalPosition | undefined> {
    return this.positions.call(undefined).catch(() => undefined);
  }

  /** A slow replica would delay the next list as well. An error of one caller's statement leaves the replica to the others. */
  private noteFailure(replica: OpenReplica, error: unknown): void {
    // A lost connection was reported when it was closed.
    if (this.replica.current() !== replica) return;
    const sqlstate = sqlstateOf(error);
    if (SLOW.has(sqlstate ?? '') || (sqlstate === undefined && isUnavailable(error))) {
      this.noteBehind();
      return;
    }
    // Not the message, which can contain values of the request.
    const reason = sqlstate === undefined ? 'an unhandled error' : `SQLSTATE ${sqlstate}`;
    if (this.rejections.has(reason)) return;
    this.rejections.add(reason);
    this.options.onRejected?.(reason);
  }

  private async readAfter(
    replica: OpenReplica,
    position: WalPosition,
    bound: readonly BoundStatement<unknown>[],
  ): Promise<readonly Record<string, unknown>[][] | undefined> {
    for (const delayMs of DELAYS_MS) {
      if (delayMs > 0) await pause(delayMs);
      const result = await this.readOnce(replica, position, bound);
      if (result === undefined) continue;
      const { isReplica, isCurrent, rows, snapshot } = result;
      if (!isReplica) {
        this.replica.leave(replica, 'the server is no replica any more: it was promoted');
        return undefined;
      }
      if (!isCurrent) continue;
      this.behindSinceMs = undefined;
      this.report('used');
      return (await this.waitUntilShown(position, snapshot)) ? rows.slice(1) : undefined;
    }
    this.noteBehind();
    return undefined;
  }

  /**
   * @returns undefined if the replica rejected the reads because it is behind: it lacks a table, a column or a workspace that the primary
   *   has
   */
  private async readOnce(
    replica: OpenReplica,
    position: WalPosition,
    bound: readonly BoundStatement<unknown>[],
  ): Promise<ReadsAfter | undefined> {
    try {
      return readsOf((await this.replica.send(replica, readsAfter(position, bound))).rows);
    } catch (error) {
      const sqlstate = sqlstateOf(error);
      if (sqlstate === undefined || SLOW.has(sqlstate)) throw error;
      const { rows } = await this.replica.send(replica, [checkPosition(position)]);
      if (hasReached(rows)) throw error;
      return undefined;
    }
  }

  /** Waits until the primary shows all that the replica has shown, which is usually so at once. */
  private async waitUntilShown(before: WalPosition, seen: Parameters<typeof isShownByPrimary>[2]): Promise<boolean> {
    if (isShownByPrimary(before.snapshot, before.snapshot, seen)) return true;
    for (const delayMs of DELAYS_MS) {
      if (delayMs > 0) await pause(delayMs);
      const now = await this.positionNow();
      if (now !== undefined && isShownByPrimary(now.snapshot, before.snapshot, seen)) return true;
    }
    return false;
  }

  private noteBehind(): void {
    const now = this.nowMs();
    this.behindUntilMs = now + BEHIND_MS;
    this.behindSinceMs ??= now;
    if (now - this.behindSinceMs >= BEHIND_REPORT_MS) {
      this.report(
        'behind',
        `the replica has been behind or too slow for more than ${BEHIND_REPORT_MS / 1_000} seconds`,
      );
    }
  }

  private report(state: 'used' | 'away' | 'behind', reason?: string): void {
    if (this.reported === state) return;
    this.reported = state;
    this.options.onChange?.(state === 'used', reason);
  }

  private nowMs(): number {
    return (this.options.nowMs ?? (() => performance.now()))();
  }
}
