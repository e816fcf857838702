import { Client, escapeLiteral } from 'pg';
import type { ConnectionOptions } from '../hosts.js';

/** Analyzes the tables of a schema that have rows. An empty one is left out, as by the service. */
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
