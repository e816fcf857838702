import { bind, sqlStatement } from './sql-statement.js';

/** What a primary and its replicas have in common. */
export interface ClusterIdentity {
  /** Chosen when the cluster was made. */
  readonly system: string;
  /** The oid of the database. */
  readonly database: string;
  /** Changes with each promotion: positions of two timelines cannot be compared. */
  readonly timeline: string;
}

const READ_IDENTITY = sqlStatement<ClusterIdentity>(
  'cluster_identity',
  `select (select system_identifier::text from pg_control_system()) as system, d.oid::text as database,
          left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) as timeline
   from pg_database d where d.datname = current_database()`,
);

export const readIdentity = bind(READ_IDENTITY);

/** The identity of a server that is a replica, as `session-setup.ts` reads it. */
export interface ReplicaState extends ClusterIdentity {
  readonly isReplica: boolean;
}

/**
 * The identity of a replica as JSON. Its timeline is the one of its control file, which may be older than that of the log it replays, and
 * is never newer.
 */
export const REPLICA_STATE = `
  (select json_build_object('isReplica', pg_is_in_recovery(), 'database', d.oid::text,
     'system', (select system_identifier::text from pg_control_system()),
     'timeline', (select lpad(upper(to_hex(greatest(c.timeline_id, r.min_recovery_end_timeline))), 8, '0')
                  from pg_control_checkpoint() c, pg_control_recovery() r))
   from pg_database d where d.datname = current_database())`;

/** Why the reads of this primary can never be sent to the server, or undefined. */
export function mistakeInReplica(state: ReplicaState, primary: ClusterIdentity): string | undefined {
  if (state.system !== primary.system) return 'The replica is one of another cluster.';
  if (state.database !== primary.database)
    return 'The replica is of the right cluster, and the URL names another database.';
  return undefined;
}

/** Why the reads of this primary cannot be sent to the server at the moment, or undefined. Another host may be able to take them. */
export function replicaUnavailable(state: ReplicaState, primary: ClusterIdentity): string | undefined {
  if (!state.isReplica) return 'The server is no replica: it was never one, or it was promoted.';
  if (state.timeline !== primary.timeline) {
    return 'The replica has not confirmed the timeline of the primary yet: it follows another server, or its next restartpoint is due.';
  }
  return undefined;
}
