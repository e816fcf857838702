import { DatabaseError, escapeIdentifier as quoted, Client } from 'pg';
import { MigrationError } from './migration-files.js';
import { SQLSTATE } from './sqlstate.js';
import { EMBEDDED_LOGIN, EMBEDDED_OPERATOR_LOGIN, OPERATOR_ROLES, ROLES, SERVICE_ROLES } from './names.js';
import type { ConnectionOptions } from './session-pool.js';

/** The schema, the role that owns its tables, and the roles that use them. */
export interface MigrationRoles {
  readonly schema: string;
  readonly ownerRole: string;
  readonly roles: readonly string[];
}

/** The roles, the schema and the rights that exist. */
interface Existing {
  readonly login: string;
  readonly version: number;
  readonly roles: readonly { readonly name: string; readonly isDangerous: boolean; readonly isOurs: boolean }[];
  readonly schemaOwner: string | null;
  readonly database: string;
  /** Whether the login has the rights of the owner of the database. */
  readonly ownsDatabase: boolean;
}

const SET_OPTION_SINCE = 160_000;

/** The databases of one cluster share their roles, so another process may have made them since the check. */
const MADE_MEANWHILE: ReadonlySet<string> = new Set([SQLSTATE.duplicateObject, SQLSTATE.uniqueViolation]);

/**
 * Ensures that the roles and the schema exist, that the login may act as each role, and that the roles of the service can make
 * neither schemas nor temporary tables in the database. Changes nothing else.
 *
 * Only the owner of the database can take that last right away. Where the login is not, `log` receives the SQL for an administrator.
 *
 * @throws MigrationError with the SQL for an administrator where the login may not run it; or where an existing role would
 *   bypass row-level security.
 */
export async function ensureRolesAndSchema(
  client: Client,
  named: MigrationRoles,
  log?: (line: string) => void,
): Promise<void> {
  const existing = await readExisting(client, named);
  refuseDanger(existing, named);
  const steps = stepsFrom(existing, named);
  const revocation = revocationOf(existing, named);
  for (const [at, step] of steps.entries()) {
    await client.query(step).catch((error: unknown) => {
      if (error instanceof DatabaseError && MADE_MEANWHILE.has(error.code ?? '')) return;
      if (!(error instanceof DatabaseError) || error.code !== SQLSTATE.insufficientPrivilege) throw error;
      const left = [...steps.slice(at), revocation].map((line) => `  ${line};`);
      throw new MigrationError(
        `The login "${existing.login}" may not prepare this database. Let an administrator run, in this database:\n${left.join('\n')}`,
        { cause: error },
      );
    });
  }
  if (!(await mayCreate(client, named))) return;
  if (existing.ownsDatabase) await client.query(revocation);
  else log?.(`The roles of the service can make temporary tables. Let an administrator run: ${revocation};`);
}

async function readExisting(client: Client, named: MigrationRoles): Promise<Existing> {
  const { rows } = await client.query<Omit<Existing, 'roles'>>(
    `select current_setting('server_version_num')::int as version, current_user as login,
            (select nspowner::regrole::text from pg_namespace where nspname = $1) as "schemaOwner",
            datname as database, pg_has_role(current_user, datdba, 'usage') as "ownsDatabase"
       from pg_database where datname = current_database()`,
    [named.schema],
  );
  const [facts] = rows;
  if (facts === undefined) throw new Error('the server does not list the database of the connection');
  const mayActAs = facts.version >= SET_OPTION_SINCE ? 'set' : 'member';
  const found = await client.query<Existing['roles'][number]>(
    `select rolname as name, rolsuper or rolbypassrls as "isDangerous",
            pg_has_role(current_user, oid, '${mayActAs}') as "isOurs"
       from pg_roles where rolname = any($1)`,
    [namesOf(named)],
  );
  return { ...facts, roles: found.rows };
}

const namesOf = ({ ownerRole, roles }: MigrationRoles) => [ownerRole, ...roles];

/** Whether a role of the service can make schemas or temporary tables, a right that PostgreSQL grants PUBLIC in every new database. */
async function mayCreate(client: Client, { roles }: MigrationRoles): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_roles
      where rolname = any($1) and has_database_privilege(oid, current_database(), 'create, temporary')`,
    [roles],
  );
  return rowCount !== 0;
}

function revocationOf({ database }: Existing, { roles }: MigrationRoles): string {
  const from = ['public', ...roles.map(quoted)].join(', ');
  return `revoke create, temporary on database ${quoted(database)} from ${from}`;
}

function refuseDanger(existing: Existing, { schema, ownerRole }: MigrationRoles): void {
  const dangerous = existing.roles.find((role) => role.isDangerous);
  if (dangerous !== undefined) {
    const name = quoted(dangerous.name);
    throw new MigrationError(
      `Row-level security does not bind the role ${name}. Run: alter role ${name} nosuperuser nobypassrls;`,
    );
  }
  if (
    existing.schemaOwner !== null &&
    existing.schemaOwner !== ownerRole &&
    existing.schemaOwner !== quoted(ownerRole)
  ) {
    throw new MigrationError(
      `The schema ${quoted(schema)} belongs to ${existing.schemaOwner}. Run: alter schema ${quoted(schema)} owner to ${quoted(ownerRole)};`,
    );
  }
}

function stepsFrom(existing: Existing, named: MigrationRoles): string[] {
  const names = namesOf(named);
  const { schema, ownerRole } = named;
  const missing = names.filter((name) => !existing.roles.some((role) => role.name === name));
  const notOurs = names.filter((name) => !existing.roles.some((role) => role.name === name && role.isOurs));
  // Every connection takes a role on with SET ROLE; the login must not inherit its rights.
  const how = existing.version >= SET_OPTION_SINCE ? ' with inherit false, set true' : '';
  return [
    ...missing.map((name) => `create role ${quoted(name)} nologin nosuperuser nobypassrls`),
    ...notOurs.map((name) => `grant ${quoted(name)} to ${quoted(existing.login)}${how}`),
    ...(existing.schemaOwner === null ? [`create schema ${quoted(schema)} authorization ${quoted(ownerRole)}`] : []),
  ];
}

/** The logins of the embedded server, and the roles that each may take on. */
const LOGINS: Readonly<Record<string, readonly string[]>> = {
  [EMBEDDED_LOGIN]: SERVICE_ROLES,
  [EMBEDDED_OPERATOR_LOGIN]: ROLES,
};

/**
 * Ensures that the logins of the embedded server exist, each with its roles and without a right of its own. No SQL lets such a login
 * become the owner of the tables.
 *
 * @param connection of a superuser of the server, which has the roles already
 */
export async function ensureEmbeddedLogins(connection: ConnectionOptions): Promise<void> {
  await asSuperuser(connection, async (client) => {
    for (const [login, roles] of Object.entries(LOGINS)) {
      for (const role of roles) await ensureLogin(client, login, role);
    }
  });
}

/**
 * Adds a login of an operator to the embedded server, which asks for no password: it lets in the users of the machine that may use its folder.
 *
 * @param connection of a superuser of the server, which has the roles already
 * @returns false if there is a role of the name
 */
export async function addEmbeddedOperator(connection: ConnectionOptions, login: string): Promise<boolean> {
  return asSuperuser(connection, async (client) => {
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [login]);
    if (rowCount !== 0) return false;
    for (const role of OPERATOR_ROLES) await ensureLogin(client, login, role);
    return true;
  });
}

async function asSuperuser<T>(connection: ConnectionOptions, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ ...connection, application_name: 'banking-login' });
  // The query that fails reports a broken connection; as an event without a listener it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
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
