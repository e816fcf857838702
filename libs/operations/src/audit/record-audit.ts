import { bind, type BoundStatement, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';

/** How many rows of the outbox one database transaction records. A row has 100 entries at most. */
export const AUDIT_ROWS_MAX = 200;

const WORKSPACES_TO_AUDIT = sqlStatement<{ id: bigint }>('workspaces_to_audit', 'select workspaces_to_audit($1) as id');
const RECORD_AUDIT = sqlStatement<{ recorded: number | null }>('record_audit', 'select record_audit($1) as recorded');

/**
 * Moves committed entries from the outbox into the audit trail, and chains them: a chore of the worker. A database records in one session
 * at a time.
 *
 * @returns how many rows of the outbox, 0 if none is left or another session records
 * @throws Refusal `unavailable`
 */
export async function recordAudit(database: Database): Promise<number> {
  const [rows] = await database.pipeline({}, [bind(WORKSPACES_TO_AUDIT, AUDIT_ROWS_MAX)] as const);
  if (rows.length === 0) return 0;
  const workspaces = rows.map(({ id }) => Number(id));
  try {
    const row = await database.read({ workspaces }, bind(RECORD_AUDIT, AUDIT_ROWS_MAX));
    return row?.recorded ?? 0;
  } catch (error) {
    // A workspace has left this database meanwhile. The next run leaves it out.
    if (isServedElsewhere(error)) return 0;
    throw error;
  }
}

/** Rows of the outbox of the audit trail that wait for the recorder, up to 10,000, and the age of the oldest. Reads no more rows. */
export const COUNT_UNRECORDED_AUDIT = sqlStatement<{ waiting: number; seconds: number }>(
  'count_unrecorded_audit',
  'select waiting, seconds from count_unrecorded_audit(10000)',
);

/** How many entries of each workspace one step deletes. */
const EVENTS_MAX = 200;

const DELETE_OLD = sqlStatement<{ deleted: number }>(
  'delete_audit_events',
  'select delete_audit_events($1, $2) as deleted',
);

/** Deletes entries of the audit trail that are older than the time for which they are kept. */
export const deleteAuditEvents = (keptDays: number): BoundStatement<{ deleted: number }> =>
  bind(DELETE_OLD, keptDays, EVENTS_MAX);
