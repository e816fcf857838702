import { type Database, SCHEMA } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import type { TestDatabase } from './test-databases.js';

/** Of a table, in one operation. A scan of a large workspace reads more. */
const READ_MAX = 500;

/** Whose reads of which tables are counted. */
interface Counted {
  /** With one session, which states what it has read when it is asked to. */
  readonly database: Database;
  readonly owner: TestDatabase['owner'];
  readonly tables: readonly string[];
}

/** The tables of which a call has read many rows. Other sessions state what they have read at any time, but nothing of these tables. */
export async function tablesReadMuch(
  counted: Counted,
  call: () => Promise<unknown>,
): Promise<readonly (readonly [table: string, rows: number])[]> {
  const before = await readOfTables(counted);
  await call();
  const after = await readOfTables(counted);
  return [...after]
    .map(([table, read]) => [table, read - (before.get(table) ?? 0)] as const)
    .filter(([, read]) => read > READ_MAX);
}

async function readOfTables({ database, owner, tables }: Counted): Promise<ReadonlyMap<string, number>> {
  await database.pipeline({ workspaces: [] }, [sql('select pg_stat_force_next_flush()')] as const);
  await owner.query('select pg_stat_clear_snapshot()');
  const { rows } = await owner.query<{ name: string; read: number }>(
    `select t.relname as name, (t.seq_tup_read + (
       select coalesce(sum(i.idx_tup_read), 0) from pg_stat_user_indexes i where i.relid = t.relid))::int as read
     from pg_stat_user_tables t where t.schemaname = $1 and t.relname = any($2)`,
    [SCHEMA, tables],
  );
  return new Map(rows.map(({ name, read }) => [name, read]));
}
