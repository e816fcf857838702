import { administer, dropDatabase, newPrefix, publish, type Published } from './fresh-database.js';
import { joinTestServer } from './test-server.js';

/**
 * For Jest's globalSetup: one server for the run, published to the workers by the environment.
 *
 * With DATABASE_URL set, that server is used, and only databases that this run has named are created and dropped there.
 */
export async function startTestServer(): Promise<{ stop(): Promise<void> }> {
  const server = await joinTestServer();
  const run: Published = { connection: server.connection, prefix: newPrefix() };
  publish(run);
  return { stop: () => dropAll(run).finally(() => server.leave()) };
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
