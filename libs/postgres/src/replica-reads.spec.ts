import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { ReplicaServer, until } from '@banking/embedded-postgres/testing';
import { Client } from 'pg';
import { Database } from './database.js';
import { sql } from './testing/sql.js';

const LOGIN = 'reader';

let folder: string;
let server: EmbeddedServer;
let owner: Client;
let replica: ReplicaServer;
let database: Database;
let changes: string[];
let behindReports: number;
let nowMs: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'banking-reads-'));
  server = await attachEmbeddedServer({ dataDir: folder, log: () => undefined });
  owner = new Client(server.connection);
  await owner.connect();
  await owner.query(`create role ${LOGIN} login; create table note (id int); grant select, insert on note to ${LOGIN}`);
  await owner.query(
    `alter role ${LOGIN} set search_path = public; revoke create, temporary on database postgres from public`,
  );
});
afterAll(async () => {
  await owner.end();
  await server.detach();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  await owner.query('truncate note');
  replica = await ReplicaServer.of(server.connection, { max_standby_streaming_delay: '0' });
  changes = [];
  behindReports = 0;
  nowMs = 0;
  database = await openWith(replica);
});
afterEach(async () => {
  await database.end();
  await replica.remove();
});

type Server = Pick<EmbeddedServer, 'connection'>;

const openWith = (at: Server, primary: Server = server) =>
  Database.open({
    connection: { ...primary.connection, user: LOGIN },
    poolSize: 2,
    acquireTimeoutMs: 20_000,
    statementTimeoutMs: 20_000,
    replica: {
      connection: { ...at.connection, user: LOGIN },
      onChange: (isUsed, reason) => note(isUsed ? 'used' : `primary: ${reason}`),
      nowMs: () => nowMs,
    },
  });

/** On a slow machine, the replica may be behind for longer than is reported. */
function note(change: string): void {
  if (change.includes('has been behind')) behindReports += 1;
  else if (changes.at(-1) !== change) changes.push(change);
}

const readNotes = sql<{ count: number; at_replica: boolean }>(
  'select count(*)::int as count, pg_is_in_recovery() as at_replica from note',
);
const addNote = () => database.write({}, [sql('insert into note values (1)')]);

async function read(): Promise<{ readonly count: number; readonly at_replica: boolean }> {
  const [[row]] = await database.readPipeline({}, [readNotes] as const);
  return row!;
}

/** Reads until the replica answers: it may be behind for a while, or connect first. */
const readAtReplica = (): Promise<{ readonly count: number }> =>
  until(
    () => {
      nowMs += 10_000;
      return read();
    },
    ({ at_replica }) => at_replica,
  );

describe('a list', () => {
  it('is read on the replica and shows every acknowledged write', async () => {
    for (let count = 1; count <= 20; count += 1) {
      await addNote();
      expect((await read()).count).toBe(count);
    }

    expect((await readAtReplica()).count).toBe(20);
    expect(changes).toEqual(['used']);
  });

  it('shows an acknowledged write while the replay is paused, and is read on the replica afterwards', async () => {
    await readAtReplica();
    await replica.pause();
    await addNote();

    expect(await read()).toEqual({ count: 1, at_replica: false });
    nowMs += 10_000;
    expect(await read()).toEqual({ count: 1, at_replica: false });

    await replica.resume();
    expect((await readAtReplica()).count).toBe(1);
  });

  it('is reported once when the replica has been behind for ten seconds', async () => {
    await readAtReplica();
    behindReports = 0;
    await replica.pause();
    await addNote();

    for (let reads = 0; reads < 10; reads += 1) {
      await read();
      nowMs += 1_001;
    }
    expect(behindReports).toBe(0);
    for (let reads = 0; reads < 5; reads += 1) {
      await read();
      nowMs += 1_001;
    }
    expect(behindReports).toBe(1);

    await replica.resume();
    await readAtReplica();
    expect(changes).toEqual(['used']);
  });

  it('shows a commit only once the primary shows it', async () => {
    await readAtReplica();
    await owner.query(`alter system set synchronous_standby_names = 'absent'`);
    await owner.query('select pg_reload_conf()');
    const writer = new Client(server.connection);
    await writer.connect();
    try {
      await until(async () => (await ownerRead('show synchronous_standby_names')) === 'absent');
      const written = writer.query('insert into note values (1)');
      await until(async () => (await replica.query('select from note')).length === 1);

      nowMs += 10_000;
      expect(await read()).toEqual({ count: 0, at_replica: false });

      await owner.query('alter system reset synchronous_standby_names');
      await owner.query('select pg_reload_conf()');
      await written;
      expect((await read()).count).toBe(1);
    } finally {
      await owner.query('alter system reset synchronous_standby_names');
      await owner.query('select pg_reload_conf()');
      await writer.end();
    }
  });

  it('is read on the primary while the replica is away', async () => {
    await addNote();
    await readAtReplica();
    await replica.stop();

    for (let reads = 0; reads < 5; reads += 1) expect(await read()).toEqual({ count: 1, at_replica: false });
    await database.end();
    expect(changes).toEqual(['used', expect.stringMatching(/^primary: ./)]);

    changes = [];
    database = await openWith(replica);
    expect(await read()).toEqual({ count: 1, at_replica: false });
    await replica.start();
    expect(await readAtReplica()).toMatchObject({ count: 1 });
    expect(changes).toEqual([expect.stringMatching(/^primary: ./), 'used']);
  });

  it('is read on the primary after the replica was promoted', async () => {
    await readAtReplica();
    await replica.promote();
    await replica.query('insert into note values (1), (2)');

    expect(await read()).toEqual({ count: 0, at_replica: false });
    expect(changes).toEqual(['used', 'primary: the server is no replica any more: it was promoted']);

    await database.end();
    changes = [];
    database = await openWith(replica);
    expect(await read()).toEqual({ count: 0, at_replica: false });
    expect(changes).toEqual(['primary: The server is no replica: it was never one, or it was promoted.']);
  });

  it('is read on the primary if the replica follows the server from before a failover', async () => {
    const next = await ReplicaServer.of(server.connection);
    await database.end();
    try {
      await next.promote();
      await owner.query('insert into note select generate_series(1, 1000)');
      await until(async () => (await replica.query('select from note')).length === 1000);
      changes = [];
      database = await openWith(replica, next);

      expect(await read()).toEqual({ count: 0, at_replica: false });
      expect(changes).toEqual([expect.stringContaining('timeline')]);
    } finally {
      await database.end();
      await next.remove();
    }
  });

  it('is read on the primary if it conflicts with the recovery of the replica', async () => {
    await readAtReplica();
    const slow = sql(`select pg_sleep(case when pg_is_in_recovery() then 60 else 0 end)`);
    const conflicts = async () => {
      const [row] = await replica.query<{ count: string }>(
        'select sum(confl_lock) as count from pg_stat_database_conflicts',
      );
      return Number(row?.count);
    };
    const isAsleep = async () =>
      (await replica.query(`select from pg_stat_activity where wait_event = 'PgSleep'`)).length > 0;

    // On a slow machine the time limit of the statement may come first.
    await until(async () => {
      await addNote();
      nowMs += 10_000;
      const reading = database.readPipeline({}, [readNotes, slow] as const);
      await Promise.race([until(isAsleep), reading]);
      await owner.query('truncate note');
      const [[row]] = await reading;
      expect(row).toMatchObject({ at_replica: false });
      return (await conflicts()) > 0;
    });
    expect(changes).toEqual(['used']);
  });
});

/** The first value of the first row. */
const ownerRead = async (text: string): Promise<unknown> =>
  Object.values((await owner.query<Record<string, unknown>>(text)).rows[0] ?? {})[0];
