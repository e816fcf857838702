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
let database: Database | undefined;
let changes: string[];
let rejections: string[];
let nowMs: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'banking-hosts-'));
  server = await attachEmbeddedServer({ dataDir: folder, log: () => undefined });
  owner = new Client(server.connection);
  await owner.connect();
  await owner.query(`create role ${LOGIN} login`);
  await owner.query(`alter default privileges grant select on tables to ${LOGIN}`);
  await owner.query(
    `alter role ${LOGIN} set search_path = public; revoke create, temporary on database postgres from public`,
  );
  replica = await ReplicaServer.of(server.connection, { max_standby_streaming_delay: '0' });
});
afterAll(async () => {
  await owner.end();
  await replica.remove();
  await server.detach();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  changes = [];
  rejections = [];
  nowMs = 0;
});
afterEach(() => database?.end());

/** The URL of a server on a Unix socket. */
const urlOf = ({ connection: { host, port, database: name } }: Pick<EmbeddedServer, 'connection'>) =>
  `postgres://${LOGIN}@localhost/${name}?host=${encodeURIComponent(host)}&port=${port}`;

async function open(first: string, ...otherHosts: string[]): Promise<Database> {
  database = await Database.open({
    connection: { ...server.connection, user: LOGIN },
    ...{ poolSize: 2, acquireTimeoutMs: 20_000, statementTimeoutMs: 20_000 },
    replica: {
      connection: { connectionString: first, otherHosts, ssl: false },
      onChange: (isUsed, reason) => note(isUsed ? 'used' : `primary: ${reason}`),
      onRejected: (reason) => rejections.push(reason),
      nowMs: () => nowMs,
    },
  });
  return database;
}

/** On a slow machine, the replica may be behind for longer than is reported. */
function note(change: string): void {
  if (!change.includes('has been behind') && changes.at(-1) !== change) changes.push(change);
}

const isAtReplica = async (): Promise<boolean> => {
  const read = sql<{ at_replica: boolean }>('select pg_is_in_recovery() as at_replica');
  const [[row]] = await database!.readPipeline({}, [read] as const);
  return row!.at_replica;
};

const untilAtReplica = () =>
  until(() => {
    nowMs += 10_000;
    return isAtReplica();
  });

describe('a replica with several hosts', () => {
  it('is the first standby among them, after a host that is away and the primary', async () => {
    const away = urlOf({ connection: { ...server.connection, host: join(folder, 'nowhere') } });
    await open(away, urlOf(server), urlOf(replica));

    await untilAtReplica();

    expect(changes).toEqual(['used']);
  });

  it('is unavailable while only the primary answers, and is used once a standby does', async () => {
    await replica.stop();
    await open(urlOf(server), urlOf(replica));

    expect(await isAtReplica()).toBe(false);
    expect(changes).toEqual([expect.stringMatching(/^primary: ./)]);

    await replica.start();
    await untilAtReplica();
    expect(changes.at(-1)).toBe('used');
  });
});

describe('a read that a replica rejects', () => {
  const rejected = sql('select 1 / (case when pg_is_in_recovery() then 0 else 1 end) as one');

  it('is reported once without its message, and the replica goes on to serve other reads', async () => {
    await open(urlOf(replica));
    await untilAtReplica();

    await until(async () => {
      nowMs += 10_000;
      expect(await database!.readPipeline({}, [rejected] as const)).toEqual([[{ one: 1 }]]);
      return rejections.length > 0;
    });
    for (let reads = 0; reads < 3; reads += 1) await database!.readPipeline({}, [rejected] as const);

    expect(rejections).toEqual(['SQLSTATE 22012']);
    await untilAtReplica();
    expect(changes).toEqual(['used']);
  });

  it('is none of its faults while it is behind', async () => {
    await open(urlOf(replica));
    await untilAtReplica();
    await replica.pause();
    await owner.query('create table newer as select 1 as one');

    nowMs += 10_000;
    expect(await database!.readPipeline({}, [sql('select one from newer')] as const)).toEqual([[{ one: 1 }]]);

    expect(rejections).toEqual([]);
    await replica.resume();
    await untilAtReplica();
    await owner.query('drop table newer');
  });
});
