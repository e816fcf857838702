import { escapeIdentifier as quoted } from 'pg';
import { migrate } from '../migrate.js';
import { APP_ROLE, OWNER_ROLE, PROVISIONING_ROLE, SCHEMA } from '../names.js';
import type { ConnectionOptions } from '../session-pool.js';
import { administer, dropDatabase, inDatabase, newPrefix, publish, type Published } from './published.js';
import { joinTestServer } from './test-server.js';

export interface TestServerOptions {
  /** The folders of migrations the databases of this run have. They may be a part of all: gaps are allowed. */
  readonly folders: readonly string[];
  /** What the migrations read with `current_setting`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Puts into the template what every spec wants to find. Must close what it opens. */
  readonly prepare?: (connection: ConnectionOptions) => Promise<void>;
}

/**
 * For Jest's globalSetup: one server for the run, one migrated template, published to the workers by the environment.
 *
 * With DATABASE_URL set, that server is used, and only databases that this run has named are created and dropped there.
 */
export async function startTestServer(options: TestServerOptions): Promise<{ stop(): Promise<void> }> {
  const server = await joinTestServer();
  const prefix = newPrefix();
  const run: Published = { connection: server.connection, prefix, template: `${prefix}template` };
  const stop = () => dropAll(run).finally(() => server.leave());
  try {
    await makeTemplate(run, options);
  } catch (error) {
    await stop();
    throw error;
  }
  publish(run);
  return { stop };
}

async function makeTemplate(run: Published, { folders, parameters = {}, prepare }: TestServerOptions): Promise<void> {
  await administer(run.connection, (client) => client.query(`create database ${quoted(run.template)}`));
  const connection = inDatabase(run.connection, run.template);
  const roles = { schema: SCHEMA, ownerRole: OWNER_ROLE, appRole: APP_ROLE, provisioningRole: PROVISIONING_ROLE };
  await migrate({ connection, folders, parameters, ...roles, isPartial: true });
  await prepare?.(connection);
}

async function dropAll(run: Published): Promise<void> {
  const names = await administer(run.connection, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [run.prefix],
    );
    return rows.map((row) => row.datname);
  });
  for (const name of names) await dropDatabase(run, name);
}
