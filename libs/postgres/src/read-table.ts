import { escapeIdentifier as quoted } from 'pg';
import { actAs } from './act-as-role.js';
import { connectClient } from './connect-client.js';
import type { ConnectionOptions } from './hosts.js';

/**
 * Reads all rows of a small table as a role; undefined where the table does not exist. For tables that are read before the schema is
 * up to date.
 *
 * @throws Refusal `unavailable` when the server cannot be reached. @throws MigrationError where the login may not act as the role.
 */
export async function readTable<Row extends object>(
  connection: ConnectionOptions,
  { schema, table, role }: { readonly schema: string; readonly table: string; readonly role: string },
): Promise<Row[] | undefined> {
  const client = await connectClient(connection, { application_name: 'banking-read' });
  try {
    const { rowCount } = await client.query(
      'select from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname = $1 and relname = $2',
      [schema, table],
    );
    if (rowCount === 0) return undefined;
    // In a database transaction, because a pooler would leave the role to the next client.
    return await actAs(client, role, schema, async () => {
      const { rows } = await client.query<Row>(`select * from ${quoted(table)}`);
      return rows;
    });
  } finally {
    await client.end();
  }
}
