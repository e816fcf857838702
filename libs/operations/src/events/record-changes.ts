import { bind, sqlStatement, type Database } from '@banking/postgres';

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
