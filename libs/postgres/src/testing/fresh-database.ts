import { randomBytes, createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, escapeIdentifier as quoted, escapeLiteral } from 'pg';
import { columnTypes } from '../sql-statement.js';
import type { ConnectionOptions } from '../session-pool.js';
import { migrate } from '../migrate.js';
import type { MigrationFolder } from '../migration-files.js';
import type { ScopeCheck } from '../rls-scope.js';
import { OPERATOR_ROLE, OWNER_ROLE, ROLES, SCHEMA } from '../names.js';
import { Database, type DatabaseOptions } from '../database.js';
import type { MigrationRoles } from '../migration-roles.js';

/** The data that the setup publishes to the workers. */
export interface Published {
  /** The login that administers the server. */
  readonly connection: ConnectionOptions;
  /** The prefix of every database of this run. Only databases with this prefix are dropped. */
  readonly prefix: string;
}

const VARIABLE = 'BANKING_TEST_SERVER';

/** Publishes the data in the environment, which the workers inherit. */
export function publish(published: Published): void {
  process.env[VARIABLE] = JSON.stringify(published);
}

/** @throws Error if no setup has run, because a spec must not guess a server */
export function published(): Published {
  const text = process.env[VARIABLE];
  if (!text) throw new Error('no test server: call onPostgres() in the jest.config.cjs of this project');
  return JSON.parse(text) as Published;
}

/** A name that no other run uses. */
export function newPrefix(): string {
  return `banking_test_${randomBytes(6).toString('hex')}_`;
}

/** The connection of the login to another database of the server. */
export function inDatabase(connection: ConnectionOptions, database: string): ConnectionOptions {
  const { connectionString, ...rest } = connection;
  if (connectionString === undefined) return { ...rest, database };
  const url = new URL(connectionString);
  url.pathname = `/${database}`;
  return { ...rest, connectionString: url.href };
}

/** The connection of another login to the same database. */
export function asLogin(connection: ConnectionOptions, user: string, password: string): ConnectionOptions {
  const { connectionString, ...rest } = connection;
  if (connectionString === undefined) return { ...rest, user, password };
  const url = new URL(connectionString);
  Object.assign(url, { username: user, password });
  return { ...rest, connectionString: url.href };
}

/** Runs SQL as the login that administers the server. */
export async function administer<T>(connection: ConnectionOptions, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ ...connection, types: columnTypes });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Drops a database of this run, and ends its connections. */
export async function dropDatabase({ connection, prefix }: Published, name: string): Promise<void> {
  if (!name.startsWith(prefix)) throw new Error(`not a database of this test run: ${name}`);
  await administer(connection, (client) => client.query(`drop database if exists ${quoted(name)} with (force)`));
}

/** The databases of a project's specs, as its jest.config.cjs describes them. */
interface TestDatabase {
  readonly migrations: MigrationFolder;
  /** What the migrations read with `current_setting`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** SQL that makes the migrated database a cell, and the check of the scopes of its clients. Default: the database is no cell. */
  readonly cell?: { readonly sql: string; readonly scopeCheck: ScopeCheck };
}

/** @throws Error when jest.config.cjs of the project describes no database. */
function testDatabase(): TestDatabase {
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
async function ensureTemplate(run: Published, client: Client): Promise<string> {
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
async function ensureDatabase(
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
  await migrate({ connection, migrations, parameters, schema: SCHEMA, ownerRole: OWNER_ROLE, roles: ROLES });
  if (cell === undefined) return;
  await administer(connection, (one) =>
    one.query(`set role ${quoted(OWNER_ROLE)}; set search_path = ${quoted(SCHEMA)}; ${cell.sql}`),
  );
}

/** The content of a template. */
type TemplateName = 'demo' | 'migrated';

/** The variable by which the setup gives the path of a template to the workers, which inherit the environment. */
const variableOf = (name: TemplateName) => `BANKING_DATA_DIR_TEMPLATE_${name.toUpperCase()}`;

/** Files of one server, which the next start creates. */
const OF_ONE_PLACE = ['socket', 'server.log'];

/**
 * For Jest's globalSetup: makes a DATA_DIR that the specs of the run copy. Making one takes seconds, and a copy is the same.
 *
 * @param fill makes what the folder should hold, and leaves no server running on it.
 */
export async function makeDataDirTemplate(
  fill: (dataDir: string) => Promise<void>,
  name: TemplateName = 'demo',
): Promise<{ remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'banking-template-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await fill(folder);
  } catch (error) {
    await remove();
    throw error;
  }
  process.env[variableOf(name)] = folder;
  return { remove };
}

/** Copies the template into an empty DATA_DIR, owners included. @throws Error when no setup has run. */
export async function copyDataDirTemplate(dataDir: string, name: TemplateName = 'demo'): Promise<void> {
  const template = process.env[variableOf(name)];
  if (!template) throw new Error('no template: set globalSetup in jest.config.cjs to a file that makes one');
  await promisify(execFile)('cp', ['-a', `${template}/.`, dataDir]);
  for (const file of OF_ONE_PLACE) await rm(join(dataDir, file), { recursive: true, force: true });
  // The user of the database server passes through it when we are root.
  await chmod(dataDir, 0o711);
}

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

/** Many specs share a machine: the limits of the service would fail specs that do not test them. */
const LIMITS_OF_SPECS: Partial<DatabaseOptions> = { acquireTimeoutMs: 20_000, statementTimeoutMs: 20_000 };

/** Opens a database as `Database.open` does, with limits that a busy machine keeps. */
export const openDatabase = (options: DatabaseOptions): Promise<Database> =>
  Database.open({ ...LIMITS_OF_SPECS, ...options });

/** A copy of the template of the project for one spec. */
export interface FreshDatabase {
  /** The database as the service uses it, as the role of operators with every constraint. */
  readonly database: Database;
  /** The database as the login that administers the server, without row-level security. */
  readonly connection: ConnectionOptions;
  /** A client of that login, with the schema of the project first in its search path. */
  readonly owner: Client;
  /** Ends both and drops the database. May be called again. */
  close(): Promise<void>;
}

/** Content of a database besides its tables. The first spec of the run that needs it makes a template, which all others copy. */
export interface Preparation {
  /** Unique among all preparations of a run. */
  readonly name: string;
  prepare(fresh: Omit<FreshDatabase, 'close'>): Promise<void>;
}

/**
 * Creates a database for a spec. Close it in `afterAll`.
 *
 * @param options in which the service's `Database` differs here.
 * @throws Error when the run has no test server.
 */
export async function freshDatabase(
  options: Partial<DatabaseOptions> = {},
  preparation?: Preparation,
): Promise<FreshDatabase> {
  const run = published();
  const name = `${run.prefix}${randomBytes(6).toString('hex')}`;
  await administer(run.connection, async (client) => {
    const migrated = await ensureTemplate(run, client);
    await copyDatabase(client, preparation ? await ensurePrepared(run, client, migrated, preparation) : migrated, name);
  });
  let closed: Promise<void> | undefined;
  const drop = () => dropDatabase(run, name);
  try {
    const { disconnect, ...fresh } = await connect(run, name, options);
    return { ...fresh, close: () => (closed ??= disconnect().then(drop)) };
  } catch (error) {
    await drop();
    throw error;
  }
}

function ensurePrepared(run: Published, client: Client, migrated: string, { name, prepare }: Preparation) {
  return ensureDatabase(run, client, `${migrated}_${name}`, async (unfinished) => {
    await copyDatabase(client, migrated, unfinished);
    const { disconnect, ...fresh } = await connect(run, unfinished, {});
    await prepare(fresh).finally(disconnect);
  });
}

async function copyDatabase(client: Client, template: string, name: string): Promise<void> {
  await client.query(`create database ${quoted(name)} template ${quoted(template)}`);
  // A copy has the rights of every new database and not those of its template.
  await client.query(`revoke temporary on database ${quoted(name)} from public`);
}

async function connect(run: Published, name: string, options: Partial<DatabaseOptions>) {
  const connection = inDatabase(run.connection, name);
  const owner = new Client({ ...connection, types: columnTypes });
  let database: Database | undefined;
  const disconnect = async () => {
    await database?.end();
    await owner.end();
  };
  try {
    await owner.connect();
    // The database is dropped while a client of the spec may still be connected, which then gets an error.
    owner.on('error', () => undefined);
    await owner.query(`set search_path = ${quoted(SCHEMA)}, public`);
    const { cell } = testDatabase();
    const inCell = cell && { scopeCheck: cell.scopeCheck };
    // Specs of all parts write by it. Those of processes show that the role of each is enough.
    database = await openDatabase({ connection, role: OPERATOR_ROLE, schema: SCHEMA, ...inCell, ...options });
    return { database, connection, owner, disconnect };
  } catch (error) {
    await disconnect();
    throw error;
  }
}

/** A database without migrations, and names for roles that do not exist yet. */
export interface EmptyDatabase extends MigrationRoles {
  readonly connection: ConnectionOptions;
  /** A name for a further role of this spec. */
  readonly loginRole: string;
  /** Runs SQL in it as the login that administers the server. */
  administer<T>(work: (client: Client) => Promise<T>): Promise<T>;
  /** Drops the database and the roles. */
  close(): Promise<void>;
}

/**
 * For the specs of migrations.
 *
 * @param options SQL behind `create database <name>`
 * @throws Error if the run has no test server
 */
export async function emptyDatabase(options = ''): Promise<EmptyDatabase> {
  const run = published();
  const name = `${run.prefix}${randomBytes(6).toString('hex')}`;
  const ownerRole = `${name}_o`;
  const roles = [`${name}_a`, `${name}_p`];
  const loginRole = `${name}_l`;
  await administer(run.connection, (client) => client.query(`create database ${quoted(name)} ${options}`));
  const connection = inDatabase(run.connection, name);
  return {
    connection,
    schema: 'books',
    ownerRole,
    roles,
    loginRole,
    administer: (work) => administer(connection, work),
    close: async () => {
      await dropDatabase(run, name);
      await administer(run.connection, async (client) => {
        for (const role of [ownerRole, ...roles, loginRole]) {
          await client.query(`drop role if exists ${quoted(role)}`);
        }
      });
    },
  };
}
