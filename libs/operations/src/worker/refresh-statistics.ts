import { bind, sqlStatement, type Database } from '@banking/postgres';

const ANALYZE_NEXT_TABLE = sqlStatement<{ analyzed: string | null }>(
  'analyze_next_table',
  'select analyze_next_table() as analyzed',
);

/**
 * Analyzes one table that has no current statistics of the planner, if there is one: autovacuum may not have reached it, and a crash of
 * the server deletes the counters by which it decides.
 *
 * @returns the number of analyzed tables, 0 or 1
 */
export async function analyzeNextTable(database: Database): Promise<number> {
  const row = await database.read({}, bind(ANALYZE_NEXT_TABLE));
  return row?.analyzed ? 1 : 0;
}

/**
 * Analyzes all tables without current statistics. Without them, indexes that begin with the workspace have the same cost, and a statement
 * may read a whole workspace for each row.
 */
export async function refreshStatistics(database: Database): Promise<void> {
  while ((await analyzeNextTable(database)) > 0);
}
