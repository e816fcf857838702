import { Client, escapeIdentifier as quoted } from 'pg';
import { APP_ROLE, EMBEDDED_LOGIN, EMBEDDED_OPERATOR_LOGIN, PROVISIONING_ROLE } from './names.js';
import type { ConnectionOptions } from './hosts.js';

/** The logins of the embedded server, and the roles that each may take on. */
const LOGINS: Readonly<Record<string, readonly string[]>> = {
  [EMBEDDED_LOGIN]: [APP_ROLE],
  [EMBEDDED_OPERATOR_LOGIN]: [APP_ROLE, PROVISIONING_ROLE],
};

/**
 * Ensures that the logins of the embedded server exist, each with its roles and without a right of its own. No SQL lets such a login
 * become the owner of the tables.
 *
 * @param connection of a superuser of the server, which has the roles already
 */
export async function ensureEmbeddedLogins(connection: ConnectionOptions): Promise<void> {
  const client = new Client({ ...connection, application_name: 'banking-login' });
  try {
    await client.connect();
    for (const [login, roles] of Object.entries(LOGINS)) {
      for (const role of roles) await ensureLogin(client, login, role);
    }
  } finally {
    await client.end();
  }
}

async function ensureLogin(client: Client, login: string, role: string): Promise<void> {
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
}
