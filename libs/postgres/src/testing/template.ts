import { createHash } from 'node:crypto';
import { escapeIdentifier as quoted, type Client } from 'pg';
import { migrate } from '../migrate.js';
import type { MigrationFolder } from '../migration-files.js';
import type { ScopeCheck } from '../rls-scope.js';
import { APP_ROLE, OWNER_ROLE, PROVISIONING_ROLE, SCHEMA } from '../names.js';
import { administer, dropDatabase, inDatabase, type Published } from './published.js';

/** The databases of a project's specs, as its jest.config.cjs describes them. */
interface TestDatabase {
  readonly migrations: MigrationFolder;
  /** What the migrations read with `current_setting`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** SQL that makes the migrated database a cell, and the check of the scopes of its clients. Default: the database is no cell. */
  readonly cell?: { readonly sql: string; readonly scopeCheck: ScopeCheck };
}

/** @throws Error when jest.config.cjs of the project describes no database. */
export function testDatabase(): TestDatabase {
  const { testDatabase: described } = globalThis as { readonly testDatabase?: TestDatabase };
  if (!described) throw new Error('no database for these specs: describe it in jest.config.cjs with onPostgres()');
  return described;
}

/**
 * The migrated database that the project's databases are copies of. The first spec of the run that needs it creates it;
 * specs of other projects with the same migrations share it.
 *
 * @param client connected as the login that administers the server.
 * @throws Error when jest.config.cjs of the project describes no database.
 */
export async function ensureTemplate(run: Published, client: Client): Promise<string> {
  const described = testDatabase();
  const digest = createHash('sha256').update(JSON.stringify(described)).digest('hex').slice(0, 12);
  return ensureDatabase(run, client, `${run.prefix}template_${digest}`, (unfinished) =>
    createMigrated(run, client, unfinished, described),
  );
}

/**
 * Has a database made once in the run.
 *
 * @param make creates it under another name, so that a database of this name is complete.
 */
export async function ensureDatabase(
  run: Published,
  client: Client,
  name: string,
  make: (unfinished: string) => Promise<void>,
): Promise<string> {
  if (await exists(client, name)) return name;
  await client.query('select pg_advisory_lock(hashtext($1))', [name]);
  try {
    if (await exists(client, name)) return name;
    const unfinished = `${name}_unfinished`;
    await dropDatabase(run, unfinished);
    await make(unfinished);
    // Its tables look unchanged, so autovacuum does not analyze them: copies have no statistics, like a new database.
    await administer(inDatabase(run.connection, unfinished), (one) => one.query('select pg_stat_reset()'));
    await client.query(`alter database ${quoted(unfinished)} rename to ${quoted(name)}`);
    return name;
  } finally {
    await client.query('select pg_advisory_unlock(hashtext($1))', [name]);
  }
}

async function exists(client: Client, database: string): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
  return rowCount === 1;
}

async function createMigrated(run: Published, client: Client, name: string, described: TestDatabase) {
  const { migrations, parameters, cell } = described;
  await client.query(`create database ${quoted(name)}`);
  const connection = inDatabase(run.connection, name);
  const roles = { schema: SCHEMA, ownerRole: OWNER_ROLE, appRole: APP_ROLE, provisioningRole: PROVISIONING_ROLE };
  await migrate({ connection, migrations, parameters, ...roles });
  if (cell === undefined) return;
  await administer(connection, (one) =>
    one.query(`set role ${quoted(OWNER_ROLE)}; set search_path = ${quoted(SCHEMA)}; ${cell.sql}`),
  );
}
