import { type Client, escapeIdentifier as quoted } from 'pg';
import { actAs } from './act-as-role.js';
import { columnTypes } from './column-types.js';
import { connectClient } from './connect-client.js';
import type { ConnectionOptions } from './hosts.js';

/** A connection of an administrator, for SQL that no role of the service may run. */
export interface AdminSession {
  /** Runs SQL as the login itself. Names of tables need their schema. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Runs work in one database transaction as another role, with the schema first in the search path. */
  actAs<T>(role: string, schema: string, work: () => Promise<T>): Promise<T>;
  /** Runs work in one database transaction as the login itself. */
  inTransaction<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * @throws Refusal `unavailable` when the server cannot be reached. @throws MigrationError where the login may not act as a role
 * @throws DatabaseError for other errors of the server
 */
export async function withAdminSession<T>(
  connection: ConnectionOptions,
  work: (session: AdminSession) => Promise<T>,
): Promise<T> {
  const client = await connectClient(connection, { types: columnTypes, application_name: 'banking-admin' });
  try {
    return await work({
      query: async <Row extends object>(text: string, values?: readonly unknown[]) =>
        (await client.query<Row>(text, values && [...values])).rows,
      actAs: (role, schema, inside) => actAs(client, role, schema, inside),
      inTransaction: (inside) => inTransaction(client, inside),
    });
  } finally {
    await client.end();
  }
}

async function inTransaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // The connection may be lost, which is the error to report.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** A name as a part of SQL text. */
export const quoteName = (name: string): string => quoted(name);
