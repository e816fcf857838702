import { type ScopeCheck, sqlStatement } from '@banking/postgres';

/** The replication slot at home of the copy of the directory in a cell, for a row `c` with its name. */
export const SLOT_NAME = `left(regexp_replace(lower('banking_' || current_database() || '_' || c.name), '[^a-z0-9_]', '_', 'g'), 63)`;

export interface DirectorySlot {
  readonly cell: string;
  /** Null without a slot. */
  readonly slot: string | null;
  readonly is_active: boolean;
  readonly is_lost: boolean;
  /** Bytes of the log. Null without a slot. */
  readonly behind: number | null;
  readonly retained: number | null;
}

/**
 * The slots of the copies, at home. A copy is lost if log that it needs was removed, or may be at the next checkpoint; or if its position is
 * ahead of the log, as after home was recovered to an earlier moment: PostgreSQL skips what home commits until then. Every login may read
 * them.
 */
export const READ_SLOTS = sqlStatement<DirectorySlot>(
  'read_directory_slots',
  `select c.name as cell, s.slot_name as slot, coalesce(s.active, false) as is_active,
          s.slot_name is null or s.wal_status in ('unreserved', 'lost') or s.confirmed_flush_lsn > pg_current_wal_lsn() as is_lost,
          case when s.slot_name is not null
            then greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn), 0)::float8 end as behind,
          pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::float8 as retained
   from cell c left join pg_replication_slots s on s.slot_name = ${SLOT_NAME} and s.database = current_database()
   where c.number <> 0 order by c.number`,
);

/**
 * What a cell checks before it sets a scope. A read takes no lock: its rows are as they were when the workspace was closed, or later, and
 * they are removed only after all reads that began before.
 */
export const SCOPE_CHECK: ScopeCheck = {
  listFunction: 'require_open_workspaces',
  isReadable: `exists (select from cell_workspace c where c.workspace_id = $1 and c.state = 'open')`,
};
