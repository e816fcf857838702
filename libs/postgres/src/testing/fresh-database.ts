import { randomBytes } from 'node:crypto';
import { Client, escapeIdentifier as quoted } from 'pg';
import { columnTypes } from '../column-types.js';
import { Database, type DatabaseOptions } from '../database.js';
import { APP_ROLE, SCHEMA } from '../names.js';
import type { ConnectionOptions } from '../hosts.js';
import { administer, dropDatabase, inDatabase, published, type Published } from './published.js';
import { ensureDatabase, ensureTemplate, testDatabase } from './template.js';

/** Many specs share a machine: the limits of the service would fail specs that do not test them. */
const LIMITS_OF_SPECS: Partial<DatabaseOptions> = { acquireTimeoutMs: 20_000, statementTimeoutMs: 20_000 };

/** Opens a database as `Database.open` does, with limits that a busy machine keeps. */
export const openDatabase = (options: DatabaseOptions): Promise<Database> =>
  Database.open({ ...LIMITS_OF_SPECS, ...options });

/** A copy of the template of the project for one spec. */
export interface FreshDatabase {
  /** The database as the service uses it, as the app role with every constraint. */
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
    database = await openDatabase({ connection, role: APP_ROLE, schema: SCHEMA, ...inCell, ...options });
    return { database, connection, owner, disconnect };
  } catch (error) {
    await disconnect();
    throw error;
  }
}
