import { Client, escapeLiteral } from 'pg';
import type { ConnectionOptions } from './session-pool.js';

/**
 * Analyzes the tables of a schema that have rows. Without statistics every index that begins with the workspace has the same cost, so
 * a new installation would read whole workspaces instead of one row until autovacuum runs. Empty tables are left out: statistics of
 * an empty table make worse plans than no statistics.
 */
export async function analyzeTables(connection: ConnectionOptions, schema: string): Promise<void> {
  const client = new Client({ ...connection, application_name: 'banking-analyze' });
  try {
    await client.connect();
    await client.query(`
      do $$
      declare
        filled regclass;
      begin
        for filled in
          select oid from pg_class
          where relnamespace = ${escapeLiteral(schema)}::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0
        loop
          execute format('analyze %s', filled);
        end loop;
      end $$`);
  } finally {
    await client.end();
  }
}
