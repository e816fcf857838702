import { randomBytes } from 'node:crypto';
import { Client, escapeIdentifier as quoted } from 'pg';
import { columnTypes } from '../column-types.js';
import { Database, type DatabaseOptions } from '../database.js';
import { APP_ROLE, SCHEMA } from '../names.js';
import type { ConnectionOptions } from '../session-pool.js';
import { administer, dropDatabase, inDatabase, published } from './published.js';

/** A copy of the run's template that one spec has for itself. */
export interface FreshDatabase {
  /** As the service has it: the app's role, behind all walls. */
  readonly database: Database;
  /** The login that administers the server, in this database: for looking behind the walls. */
  readonly connection: ConnectionOptions;
  /** A client connected so, with the project's schema in front. */
  readonly owner: Client;
  /** Ends both and drops the database. May be called again. */
  close(): Promise<void>;
}

/**
 * Makes a database for a spec. Close it in `afterAll`.
 *
 * @param options what the service's `Database` should do differently here.
 * @throws Error when the run has no test server.
 */
export async function freshDatabase(options: Partial<DatabaseOptions> = {}): Promise<FreshDatabase> {
  const run = published();
  const name = `${run.prefix}${randomBytes(6).toString('hex')}`;
  await administer(run.connection, async (client) => {
    await client.query(`create database ${quoted(name)} template ${quoted(run.template)}`);
    // A copy has the rights of every new database and not those of its template.
    await client.query(`revoke temporary on database ${quoted(name)} from public`);
  });
  const connection = inDatabase(run.connection, name);
  const owner = new Client({ ...connection, types: columnTypes });
  let database: Database | undefined;
  let closed: Promise<void> | undefined;
  const end = async () => {
    await database?.end();
    await owner.end();
    await dropDatabase(run, name);
  };
  const close = () => (closed ??= end());
  try {
    await owner.connect();
    // The database is dropped while a client that a spec forgot is still connected: that is no news.
    owner.on('error', () => undefined);
    await owner.query(`set search_path = ${quoted(SCHEMA)}, public`);
    database = await Database.open({ connection, role: APP_ROLE, schema: SCHEMA, ...options });
    return { database, connection, owner, close };
  } catch (error) {
    await close();
    throw error;
  }
}
