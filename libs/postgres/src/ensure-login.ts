import { Client, escapeIdentifier as quoted } from 'pg';
import type { ConnectionOptions } from './session-pool.js';

/**
 * Makes sure that a login without any right of its own may take on a role: what serves requests then has no way up, whatever SQL
 * somebody got it to run. For a server of our own, whose administering login is a superuser.
 */
export async function ensureLogin(connection: ConnectionOptions, login: string, role: string): Promise<void> {
  const client = new Client({ ...connection, application_name: 'banking-login' });
  try {
    await client.connect();
    const { rowCount } = await client.query(
      `select from pg_roles where rolname = $1 and pg_has_role(oid, (select oid from pg_roles where rolname = $2), 'member')`,
      [login, role],
    );
    if (rowCount === 1) return;
    await client.query(
      `do $$ begin create role ${quoted(login)} login nosuperuser nobypassrls noinherit;
       exception when duplicate_object or unique_violation then null; end $$`,
    );
    await client.query(`grant ${quoted(role)} to ${quoted(login)}`);
  } finally {
    await client.end();
  }
}
