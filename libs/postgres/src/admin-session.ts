import { Client, type ClientConfig, type QueryConfig, escapeIdentifier as quoted, type QueryResult } from 'pg';
import { asConnectionFailure, isUnavailable, READ_ONLY_SERVER } from './failures.js';
import { type ConnectionOptions, hostsIn, takePassword } from './session-pool.js';
import { MigrationError } from './migration-files.js';
import { SQLSTATE } from './sqlstate.js';
import { columnTypes } from './sql-statement.js';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects a client that is used without a pool. Of several hosts, it takes the first that accepts writes.
 *
 * @throws Refusal `unavailable` when none can be reached; the failure is that of the last one.
 * @throws DatabaseSetupError when a server does not accept the login.
 */
export async function connectClient(connection: ConnectionOptions, options: ClientConfig): Promise<Client> {
  const hosts = hostsIn(connection);
  const timeoutMs = options.connectionTimeoutMillis ?? CONNECT_TIMEOUT_MS;
  let failure: unknown;
  for (const host of hosts) {
    const client = new Client({ ...options, connectionTimeoutMillis: timeoutMs, ...host });
    takePassword(client, host);
    // Without a listener, a broken connection would end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (hosts.length > 1) await expectWritable(client, timeoutMs);
      return client;
    } catch (error) {
      client.end().catch(() => undefined);
      failure = asConnectionFailure(error);
      if (!isUnavailable(failure)) throw failure;
    }
  }
  throw failure;
}

async function expectWritable(client: Client, timeoutMs: number): Promise<void> {
  // A host may accept a connection and never answer.
  const query = {
    text: `select current_setting('transaction_read_only') = 'on' as is_read_only`,
    query_timeout: timeoutMs,
  } as QueryConfig;
  const { rows } = await client.query<{ is_read_only: boolean }>(query);
  if (rows[0]?.is_read_only !== false) throw new Error(READ_ONLY_SERVER);
}

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

/** The first of some roles of which the login is a member. Without one, the first of all: `actAs` then names what is missing. */
export async function firstRoleOf(client: Client, roles: readonly string[]): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select rolname as name from pg_roles where rolname = any($1) and pg_has_role(session_user, oid, 'member')
      order by array_position($1::name[], rolname) limit 1`,
    [roles],
  );
  return rows[0]?.name ?? roles[0]!;
}

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

/**
 * Reads all rows of a small table as the first of some roles that the login may take on; undefined where the table does not exist. For tables that are read before the schema is
 * up to date.
 *
 * @throws Refusal `unavailable` when the server cannot be reached. @throws MigrationError where the login may act as none of them.
 */
export async function readTable<Row extends object>(
  connection: ConnectionOptions,
  { schema, table, roles }: { readonly schema: string; readonly table: string; readonly roles: readonly string[] },
): Promise<Row[] | undefined> {
  const client = await connectClient(connection, { application_name: 'banking-read' });
  try {
    const { rowCount } = await client.query(
      'select from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname = $1 and relname = $2',
      [schema, table],
    );
    if (rowCount === 0) return undefined;
    // In a database transaction, because a pooler would leave the role to the next client.
    return await actAs(client, await firstRoleOf(client, roles), schema, async () => {
      const { rows } = await client.query<Row>(`select * from ${quoted(table)}`);
      return rows;
    });
  } finally {
    await client.end();
  }
}
