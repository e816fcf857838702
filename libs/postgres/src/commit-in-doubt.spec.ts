import { Database } from './database.js';
import { CommitInDoubtError } from './failures.js';
import { APP_ROLE, SCHEMA } from './names.js';
import { bind, statement } from './statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';
import { Wire } from './testing/wire.js';

const addNote = statement<{ id: bigint }>(
  'doubt.add-note',
  'insert into note (workspace_id, id, text) values (7, $1, $2) returning id',
);
const lockNote = statement('doubt.lock-note', 'select id from note where id = $1 for update');
const scope = { workspaces: [7] };

let world: FreshDatabase;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());
beforeEach(() => world.owner.query('truncate note'));

async function notes(): Promise<string[]> {
  const { rows } = await world.owner.query<{ text: string }>('select text from note order by id');
  return rows.map((row) => row.text);
}

describe('a connection lost around COMMIT', () => {
  let wire: Wire;
  let database: Database;

  beforeEach(async () => {
    wire = await Wire.lay(world.connection);
    database = await Database.open({
      connection: wire.connection,
      role: APP_ROLE,
      schema: SCHEMA,
      poolSize: 1,
      statementTimeoutMs: 200,
    });
  });
  afterEach(async () => {
    await database.end();
    await wire.remove();
  });

  const write = () => database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'written')]));

  it('before the server read it: is in doubt, and nothing has happened', async () => {
    wire.toServer = (bytes) => (bytes.includes('commit') ? { isCut: true } : { pass: bytes });

    await expect(write()).rejects.toBeInstanceOf(CommitInDoubtError);

    expect(await notes()).toEqual([]);
  });

  it('before we read the answer: is in doubt, and it has happened', async () => {
    wire.toClient = (bytes) => (bytes.includes('COMMIT') ? { isCut: true } : { pass: bytes });

    await expect(write()).rejects.toBeInstanceOf(CommitInDoubtError);

    expect(await notes()).toEqual(['written']);
  });

  it('after we read that it was done: is done', async () => {
    const readyForQueryBytes = 6;
    wire.toClient = (bytes) =>
      bytes.includes('COMMIT') ? { pass: bytes.subarray(0, -readyForQueryBytes), isCut: true } : { pass: bytes };

    await expect(write()).resolves.toEqual([[{ id: 1n }]]);

    expect(await notes()).toEqual(['written']);
    wire.toClient = (bytes) => ({ pass: bytes });
    await expect(database.ping()).resolves.toBeUndefined();
  });

  it('by a FATAL that came instead of the answer: is in doubt, though it has an error code', async () => {
    wire.toClient = (bytes) => (bytes.includes('COMMIT') ? { pass: fatal('57P01'), isCut: true } : { pass: bytes });

    const doubt = await write().catch((error: unknown) => error);

    expect(doubt).toBeInstanceOf(CommitInDoubtError);
    expect(doubt).toMatchObject({ cause: { name: 'ConnectionLost', cause: { code: '57P01' } } });
    expect(await notes()).toEqual(['written']);
  });

  it('that goes silent: is in doubt after a while', async () => {
    wire.toServer = (bytes) => (bytes.includes('commit') ? {} : { pass: bytes });

    await expect(write()).rejects.toBeInstanceOf(CommitInDoubtError);
  });

  it('in an earlier flight: is unavailable, not in doubt', async () => {
    const done = database.transaction(scope, async (tx) => {
      wire.toServer = () => ({ isCut: true });
      await tx.flight([bind(addNote, 1, 'lost')]);
      await tx.commit();
    });

    await expect(done).rejects.toMatchObject({ reason: 'unavailable' });
    expect(await notes()).toEqual([]);
  });

  it('by the server, which was told to stop, while it waits: is in doubt', async () => {
    await world.owner.query(`insert into note (workspace_id, id, text) values (7, 1, 'locked')`);
    await world.owner.query('begin; select from note for update');
    const patient = await Database.open({ connection: world.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 1 });
    const done = patient.transaction(scope, (tx) => tx.commit([bind(lockNote, 1)]));
    done.catch(() => undefined);

    let stopped = 0;
    while (stopped === 0) {
      const { rowCount } = await world.owner.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      stopped = rowCount ?? 0;
    }

    await expect(done).rejects.toBeInstanceOf(CommitInDoubtError);
    await world.owner.query('rollback');
    await patient.end();
  });
});

describe('an error of the server during COMMIT', () => {
  /** Runs at COMMIT, before the server writes it down. */
  const atCommit = async (body: string) => {
    await world.owner.query(
      `create function at_commit() returns trigger language plpgsql security definer as $$ begin ${body}; return null; end $$`,
    );
    await world.owner.query(
      `create constraint trigger at_commit after insert on note deferrable initially deferred for each row execute function at_commit()`,
    );
  };
  afterEach(() => world.owner.query('drop function at_commit() cascade'));

  const write = () => world.database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'written')]));
  const writeAlone = () => world.database.write(scope, [bind(addNote, 1, 'written')]);

  it.each(['XX000', '57014', '40001', '58030'])(
    'that it survives, as %s: is no doubt, and nothing happened',
    async (code) => {
      await atCommit(`raise exception 'no' using errcode = '${code}'`);

      for (const done of [write(), writeAlone()]) {
        const error = await done.catch((thrown: unknown) => thrown);
        expect(error).not.toBeInstanceOf(CommitInDoubtError);
        expect([error, (error as Error).cause]).toContainEqual(expect.objectContaining({ code }));
      }
      expect(await notes()).toEqual([]);
    },
  );

  it('that ends its process: is in doubt', async () => {
    await atCommit('perform pg_terminate_backend(pg_backend_pid())');

    for (const done of [write, writeAlone]) await expect(done()).rejects.toBeInstanceOf(CommitInDoubtError);
    expect(await notes()).toEqual([]);
  });
});

describe('a write by itself whose connection is lost', () => {
  let wire: Wire;
  let database: Database;

  beforeEach(async () => {
    wire = await Wire.lay(world.connection);
    database = await Database.open({ connection: wire.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 1 });
  });
  afterEach(async () => {
    await database.end();
    await wire.remove();
  });

  const write = () => database.write(scope, [bind(addNote, 1, 'written')]);

  it('before the server read it: is in doubt, and nothing has happened', async () => {
    wire.toServer = () => ({ isCut: true });

    await expect(write()).rejects.toMatchObject({ reason: 'outcome_unknown', retryAfterSeconds: 1 });
    expect(await notes()).toEqual([]);
  });

  it('before we read the answer: is in doubt, and it has happened', async () => {
    wire.toClient = () => ({ isCut: true });

    await expect(write()).rejects.toMatchObject({ reason: 'outcome_unknown' });
    expect(await notes()).toEqual(['written']);
  });

  it('after every statement was answered, but not the Sync that commits: is in doubt', async () => {
    wire.toClient = (bytes) => ({ pass: bytes.subarray(0, -6), isCut: true });

    await expect(write()).rejects.toMatchObject({ reason: 'outcome_unknown' });
  });

  it('before it was sent: is unavailable, and nothing has happened', async () => {
    await expect(
      database.transaction(scope, async (tx) => {
        await tx.flight([bind(addNote, 1, 'lost')]);
        await wire.remove();
        // The pipeline reads that the connection has ended before it sends anything more.
        await expect(tx.flight([bind(addNote, 2, 'lost')])).rejects.toMatchObject({ reason: 'unavailable' });
        await tx.commit();
      }),
    ).rejects.toMatchObject({ reason: 'unavailable', cause: { wasSent: false } });
    expect(await notes()).toEqual([]);
  });

  it('as one that only reads: is unavailable', async () => {
    wire.toClient = () => ({ isCut: true });

    await expect(database.flight(scope, [bind(addNote, 1, 'written')])).rejects.toMatchObject({
      reason: 'unavailable',
    });
  });
});

/** An ErrorResponse as a server or a pooler sends it before it closes the connection. */
function fatal(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mterminating connection\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
