import { createServer, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { connectClient, readTable } from './admin-session.js';
import { Database } from './database.js';
import { DatabaseSetupError } from './failures.js';
import type { ConnectionOptions } from './session-pool.js';
import { API_ROLE, SCHEMA } from './names.js';
import { SQLSTATE } from './sqlstate.js';
import { freshDatabase, sql, type FreshDatabase, until, Wire } from './testing/index.js';

let world: FreshDatabase;
let first: Wire;
let second: Wire;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());

beforeEach(async () => {
  [first, second] = await Promise.all([Wire.lay(world.connection), Wire.lay(world.connection)]);
});
afterEach(() => Promise.all([first.remove(), second.remove()]));

/** The URL of the database through a proxy. */
function urlOf({ connection }: Wire, query = ''): string {
  const { host, port, user = '', database = '', password } = connection;
  const secret = typeof password === 'string' ? `:${encodeURIComponent(password)}` : '';
  return `postgres://${encodeURIComponent(user)}${secret}@${host}:${port}/${database}${query}`;
}

/** A server of which every session is read-only, as those of a standby are. */
const READ_ONLY = `?options=${encodeURIComponent('-c default_transaction_read_only=on')}`;

const several = (one: string, ...otherHosts: string[]): ConnectionOptions => ({
  connectionString: one,
  otherHosts,
  ssl: false,
});

const open = (connection: ConnectionOptions, poolSize = 1) =>
  Database.open({
    connection,
    ...{ role: API_ROLE, schema: SCHEMA, poolSize, acquireTimeoutMs: 20_000 },
  });

/** Counts what arrives. */
function countBytes(wire: Wire): () => number {
  let bytes = 0;
  wire.toServer = (pass) => {
    bytes += pass.length;
    return { pass };
  };
  return () => bytes;
}

const write = (database: Database) =>
  database.write({ workspaces: [7] }, [
    sql(`insert into note (workspace_id, id, text) values (7, (random() * 1e9)::int, 'here')`),
  ]);

describe('a database with two hosts', () => {
  it('uses the first one that accepts writes', async () => {
    const atSecond = countBytes(second);
    const database = await open(several(urlOf(first), urlOf(second)));

    await write(database);

    expect(atSecond()).toBe(0);
    await database.end();
  });

  it('uses the second one if the first is down, for every connection at once', async () => {
    const address = urlOf(first);
    await first.remove();
    const database = await open(several(address, urlOf(second)), 4);

    await Promise.all(Array.from({ length: 4 }, () => database.read({}, sql('select pg_sleep(0.05)::text'))));

    expect(database.stats()).toMatchObject({ total: 4 });
    await database.end();
  });

  it('uses the second one if the first accepts connections and sends nothing', async () => {
    const silent = createServer(() => undefined);
    const address = await listening(silent);
    const database = await Database.open({
      connection: several(urlOf(first).replace(/:\d+\//, `:${address.port}/`), urlOf(second)),
      ...{ role: API_ROLE, schema: SCHEMA, poolSize: 1, acquireTimeoutMs: 4_000 },
    });

    await write(database);

    await database.end();
    silent.close();
  });

  it('gives each of three hosts its own time to connect', async () => {
    const silent = createServer(() => undefined);
    const { port } = await listening(silent);
    const silentUrl = urlOf(first).replace(/:\d+\//, `:${port}/`);
    const timeouts = jest.spyOn(globalThis, 'setTimeout');

    const database = await Database.open({
      connection: several(silentUrl, silentUrl, urlOf(second)),
      ...{ role: API_ROLE, schema: SCHEMA, poolSize: 1, acquireTimeoutMs: 3_001 },
    });

    // Of the pool and of its client, for each host.
    expect(timeouts.mock.calls.filter(([, ms]) => ms === 3_001).length).toBeGreaterThanOrEqual(6);
    timeouts.mockRestore();
    await write(database);
    await database.end();
    silent.close();
  });

  it('does not make a caller wait once for each host while all connections are busy', async () => {
    const database = await Database.open({
      connection: several(urlOf(first), urlOf(second)),
      ...{ role: API_ROLE, schema: SCHEMA, poolSize: 1, acquireTimeoutMs: 1_000 },
    });
    await write(database);
    await database.transaction({}, async (tx) => {
      await tx.pipeline([sql('select')] as const);
      const timeouts = jest.spyOn(globalThis, 'setTimeout');

      await expect(database.ping()).rejects.toMatchObject({ reason: 'unavailable' });

      expect(timeouts.mock.calls.filter(([, ms]) => ms === 1_000)).toHaveLength(1);
      timeouts.mockRestore();
    });
    await database.end();
  });

  it('uses the second one if the first is a standby, and stays there', async () => {
    const database = await open(several(urlOf(first, READ_ONLY), urlOf(second)), 2);
    const atFirst = countBytes(first);

    await Promise.all([write(database), write(database), write(database)]);

    expect(atFirst()).toBe(0);
    await database.end();
  });

  it('goes to the second one when the first goes down, and stays there', async () => {
    const database = await open(several(urlOf(first), urlOf(second)));
    await write(database);

    await first.remove();
    await untilWritten(database);

    const atSecond = countBytes(second);
    await write(database);
    expect(atSecond()).toBeGreaterThan(0);
    await database.end();
  });

  it('is unavailable while neither accepts writes, and serves once one does', async () => {
    const addresses = [urlOf(first), urlOf(second)] as const;
    const database = await open(several(...addresses));
    await Promise.all([first.remove(), second.remove()]);
    await expect(database.ping()).rejects.toMatchObject({ reason: 'unavailable' });

    second = await Wire.lay(world.connection, Number(new URL(addresses[1]).port));

    await untilWritten(database);
    await database.end();
  });

  it('is not opened at the second one if the first does not accept the login', async () => {
    const atSecond = countBytes(second);
    const stranger = new URL(urlOf(first));
    stranger.pathname = '/no_such_database';

    await expect(open(several(stranger.href, urlOf(second)))).rejects.toBeInstanceOf(DatabaseSetupError);
    expect(atSecond()).toBe(0);
  });

  it('is read without a pool at the one that accepts writes', async () => {
    const read = (...hosts: [string, string]) =>
      readTable(several(...hosts), { schema: SCHEMA, table: 'schema_migration', roles: [API_ROLE] });

    expect(await read(urlOf(first, READ_ONLY), urlOf(second))).not.toHaveLength(0);
    const address = urlOf(first);
    await first.remove();
    expect(await read(address, urlOf(second))).not.toHaveLength(0);
    await expect(read(address, urlOf(second, READ_ONLY))).rejects.toMatchObject({ reason: 'unavailable' });
  });
});

describe('a client without a pool', () => {
  it('uses the second host if the first accepts the login and then sends nothing', async () => {
    let queries = 0;
    // Message Q, of a simple query, begins after the start of the session.
    first.toServer = (pass) => (pass[0] === 0x51 ? (queries++, {}) : { pass });
    const hosts = several(urlOf(first), urlOf(second));

    const client = await connectClient(hosts, { connectionTimeoutMillis: 500 });
    await client.end();

    expect([queries, client.port]).toEqual([1, second.connection.port]);
  });
});

describe('a server that accepts no writes', () => {
  it('is unavailable, with the reason', async () => {
    await expect(open({ connectionString: urlOf(first, READ_ONLY), ssl: false })).rejects.toMatchObject({
      reason: 'unavailable',
      cause: { message: expect.stringContaining('the server accepts no writes') as unknown },
    });
  });

  it('fails one caller when it becomes one, and no further caller receives its connections', async () => {
    const database = await open({ connectionString: urlOf(first), ssl: false }, 2);
    const becomeReadOnly = sql('set default_transaction_read_only = on');
    // Both connections, at the same time.
    await Promise.all([1, 2].map(() => database.pipeline({}, [becomeReadOnly, sql('select pg_sleep(0.2)::text')])));

    await expect(write(database)).rejects.toMatchObject({
      reason: 'unavailable',
      cause: { code: SQLSTATE.readOnlySqlTransaction },
    });

    await write(database);
    await Promise.all([write(database), write(database)]);
    await database.end();
  });
});

const untilWritten = (database: Database) =>
  until(
    () => Promise.allSettled([write(database)]),
    ([{ status }]) => status === 'fulfilled',
  );

async function listening(server: Server): Promise<AddressInfo> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address() as AddressInfo;
}
