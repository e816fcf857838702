import { bind, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';

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

/** How many workspaces one step looks into, and how many entries of each it deletes. */
const WORKSPACES = 50;

const EVENTS_MAX = 200;

const NEXT_WORKSPACES = sqlStatement<{ id: bigint }>(
  'workspaces_with_old_audit_events',
  `select w.id from workspace w where w.id > $1 and is_served_here(w.id) order by w.id limit $2`,
);

const DELETE_OLD = sqlStatement<{ deleted: number }>(
  'delete_audit_events',
  'select delete_audit_events($1, $2) as deleted',
);

/** Deletes entries of the audit trail that are older than the time for which they are kept, a batch at a time: a chore of the worker. */
export class OldAuditEvents {
  private afterId = 0;

  constructor(
    private readonly database: Database,
    private readonly keptDays: number,
  ) {}

  /** Deletes a batch and returns its size, 0 when the last workspace has none left. @throws Refusal `unavailable` */
  async deleteBatch(): Promise<number> {
    for (;;) {
      const [rows] = await this.database.pipeline({}, [bind(NEXT_WORKSPACES, this.afterId, WORKSPACES)] as const);
      const workspaces = rows.map(({ id }) => Number(id));
      const deleted = workspaces.length === 0 ? 0 : await this.deleteOf(workspaces);
      if (deleted > 0) return deleted;
      this.afterId = rows.length < WORKSPACES ? 0 : workspaces.at(-1)!;
      if (this.afterId === 0) return 0;
    }
  }

  private async deleteOf(workspaces: readonly number[]): Promise<number> {
    try {
      const row = await this.database.read({ workspaces }, bind(DELETE_OLD, this.keptDays, EVENTS_MAX));
      return row?.deleted ?? 0;
    } catch (error) {
      if (isServedElsewhere(error)) return 0;
      throw error;
    }
  }
}
