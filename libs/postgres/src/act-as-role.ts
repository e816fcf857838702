import { escapeIdentifier as quoted, type Client, type QueryResult } from 'pg';
import { MigrationError } from './migration-files.js';
import { SQLSTATE } from './sqlstate.js';

/** Runs work in one database transaction as another role, with the schema first in the search path. */
export async function actAs<T>(client: Client, role: string, schema: string, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    await takeOn(client, role, 'local');
    await client.query(`set local search_path = ${quoted(schema)}`);
    const result = await work();
    const { command }: QueryResult = await client.query('commit');
    if (command !== 'COMMIT') throw new MigrationError(`COMMIT answered ${command}: the migration was not applied.`);
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Runs work as another role, with the schema first in the search path, each statement in a database transaction of its own. */
export async function actOutsideAs(
  client: Client,
  role: string,
  schema: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await takeOn(client, role, 'session');
    await client.query(`set search_path = ${quoted(schema)}`);
    await work();
  } finally {
    // Fails only on a connection that is lost, whose own error is the one to report.
    await client.query('reset role; reset search_path').catch(() => undefined);
  }
}

/** @throws MigrationError when the login may not act as the role, with the SQL that permits it */
async function takeOn(client: Client, role: string, duration: 'local' | 'session'): Promise<void> {
  try {
    await client.query(`set ${duration} role ${quoted(role)}`);
  } catch (error) {
    if ((error as { code?: unknown }).code !== SQLSTATE.insufficientPrivilege) throw error;
    const login = quoted(client.user ?? 'login');
    throw new MigrationError(
      `The login ${login} may not act as ${quoted(role)}. Let an administrator run: grant ${quoted(role)} to ${login};`,
      { cause: error },
    );
  }
}
