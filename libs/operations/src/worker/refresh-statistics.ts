import { bind, sqlStatement, type Database } from '@banking/postgres';

const ANALYZE_NEXT_TABLE = sqlStatement<{ analyzed: number | null }>(
  'analyze_next_table',
  'select analyze_next_table($1::oid) as analyzed',
);

/**
 * Analyzes the tables without current statistics of the planner, each in a database transaction of its own: autovacuum may not have
 * reached them, and a crash of the server deletes the counters by which it decides.
 *
 * Without statistics, indexes that begin with the workspace have the same cost, and a statement may read a whole workspace for each row.
 *
 * @returns the number of tables
 */
export async function refreshStatistics(database: Database): Promise<number> {
  let after: number | null = 0;
  for (let count = 0; ; count += 1) {
    const row: { readonly analyzed: number | null } | undefined = await database.read(
      {},
      bind(ANALYZE_NEXT_TABLE, after),
    );
    after = row?.analyzed ?? null;
    if (after === null) return count;
  }
}
