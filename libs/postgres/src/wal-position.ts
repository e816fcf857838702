import { bind, sqlStatement, type BoundStatement } from './sql-statement.js';

/** Which database transactions a snapshot shows: those below `xmax`, except the unfinished ones. */
interface Snapshot {
  readonly xmax: bigint;
  readonly unfinished: readonly bigint[];
}

/** What the primary had committed at one instant. */
export interface WalPosition {
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

export const readPosition = bind(READ_POSITION);

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
export const checkPosition = ({ lsn }: WalPosition) => bind(CHECK_POSITION, lsn);

/** @param rows the result of `checkPosition` */
export const hasReached = (rows: readonly Record<string, unknown>[][]): boolean =>
  rows[0]?.[0]?.['is_current'] === true;

/** The statements of a pipeline on a replica: whether it has a position, the reads, and what they may have shown beyond it. */
export const readsAfter = (
  { lsn, snapshot }: WalPosition,
  reads: readonly BoundStatement<unknown>[],
): readonly BoundStatement<unknown>[] => [
  bind(CHECK_POSITION, lsn),
  ...reads,
  bind(READ_SNAPSHOT, snapshot.unfinished),
];

/** The result of `readsAfter`. */
export interface ReadsAfter {
  /** False once the server has been promoted. */
  readonly isReplica: boolean;
  readonly isCurrent: boolean;
  readonly rows: readonly Record<string, unknown>[][];
  readonly snapshot: ReplicaSnapshot;
}

export function readsOf(rows: readonly Record<string, unknown>[][]): ReadsAfter {
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
