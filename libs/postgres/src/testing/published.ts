import { randomBytes } from 'node:crypto';
import { Client, escapeIdentifier as quoted } from 'pg';
import { columnTypes } from '../column-types.js';
import type { ConnectionOptions } from '../hosts.js';

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
