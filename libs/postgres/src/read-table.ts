import { Client, escapeIdentifier as quoted } from 'pg';
import { asConnectionFailure } from './failures.js';
import type { ConnectionOptions } from './session-pool.js';

/**
 * Reads all rows of a small table as a role; undefined where the table does not exist. For tables that are read before the schema is
 * up to date.
 *
 * @throws Refusal `unavailable` when the server cannot be reached. @throws DatabaseError where the login may not act as the role.
 */
export async function readTable<Row extends object>(
  connection: ConnectionOptions,
  { schema, table, role }: { readonly schema: string; readonly table: string; readonly role: string },
): Promise<Row[] | undefined> {
  const client = new Client({ ...connection, application_name: 'banking-read', connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect().catch((error: unknown) => Promise.reject(asConnectionFailure(error) as Error));
    const { rowCount } = await client.query(
      'select from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname = $1 and relname = $2',
      [schema, table],
    );
    if (rowCount === 0) return undefined;
    await client.query(`set role ${quoted(role)}`);
    const { rows } = await client.query<Row>(`select * from ${quoted(schema)}.${quoted(table)}`);
    return rows;
  } finally {
    await client.end();
  }
}
