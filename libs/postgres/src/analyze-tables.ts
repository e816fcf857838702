import { Client, escapeLiteral } from 'pg';
import type { ConnectionOptions } from './session-pool.js';

/**
 * Tells the planner what is in the tables of a schema that hold rows. Without it a fresh install reads whole workspaces where the
 * primary key would do, until autovacuum comes by: on tables without statistics every index that begins with the workspace looks
 * the same. Empty tables are left out; plans made for nothing are worse than plans made without knowledge.
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
