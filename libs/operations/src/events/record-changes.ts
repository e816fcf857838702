import { FINAL_EVENT_TYPES } from '@banking/domain';
import { bind, type Database, sqlStatement } from '@banking/postgres';

/** The bound of how many events one database transaction records. */
export const RECORDED_MAX = 1_000;

const RECORD_CHANGES = sqlStatement<{ recorded: number | null }>(
  'record_changes',
  'select record_changes($1) as recorded',
);

/**
 * Records the changes that were committed, as events, a batch at a time: a chore of the worker. A database records in one session at a
 * time; others do nothing meanwhile.
 *
 * @returns how many events, 0 when no change is left or another session records
 * @throws Refusal `unavailable`
 */
export async function recordChanges(database: Database): Promise<number> {
  const [[row]] = await database.pipeline({}, [bind(RECORD_CHANGES, RECORDED_MAX)] as const);
  return row?.recorded ?? 0;
}

/** Statements whose changes are not events yet, up to 10,000, and the age of the oldest. Reads no more rows. */
export const COUNT_UNRECORDED = sqlStatement<{ rows: number; seconds: number }>(
  'count_unrecorded_changes',
  `select (select count(*)::int from (select from change_outbox limit 10000) o) as rows,
     coalesce((
       select greatest(extract(epoch from statement_timestamp() - created_at), 0)::float8 from change_outbox order by id limit 1), 0) as seconds`,
);

/** How long events are listed, in days, if the setting is absent. */
export const EVENTS_KEPT_DAYS = 30;

/** The bound of how many events one database transaction reads. */
const BATCH_MAX = 1_000;

interface Deleted {
  readonly after_workspace: bigint | null;
  readonly after_id: bigint | null;
  readonly deleted: bigint;
}

const DELETE_OLD_EVENTS = sqlStatement<Deleted>(
  'delete_old_events',
  'select after_workspace, after_id, deleted from delete_old_events($1, $2, $3, $4, $5)',
);

const BEGINNING = { after_workspace: 0n, after_id: null } as const;

/** Deletes events older than the kept time, a batch at a time over all workspaces: a chore of the worker. */
export class OldEvents {
  /** Where the last batch ended. Events that stay for an endpoint are read once a pass. */
  private from: Pick<Deleted, 'after_id'> & { readonly after_workspace: bigint } = BEGINNING;

  constructor(
    private readonly database: Database,
    private readonly keptDays = EVENTS_KEPT_DAYS,
  ) {}

  /** Reads one batch and deletes what may be deleted of it. @returns 1 while the pass goes on, 0 at its end. @throws Refusal `unavailable` */
  async deleteBatch(): Promise<number> {
    const { after_workspace: workspace, after_id: id } = this.from;
    const [[next]] = await this.database.pipeline({}, [
      bind(DELETE_OLD_EVENTS, this.keptDays, FINAL_EVENT_TYPES, BATCH_MAX, workspace.toString(), id?.toString()),
    ] as const);
    const last = next?.after_workspace ?? null;
    this.from = next && last !== null ? { ...next, after_workspace: last } : BEGINNING;
    return last === null ? 0 : 1;
  }
}
