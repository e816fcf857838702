import { SQLSTATE } from './sqlstate.js';
import type { Database } from './database.js';
import { CommitInDoubtError } from './failures.js';
import { API_ROLE, SCHEMA } from './names.js';
import { bind, sqlStatement } from './sql-statement.js';
import { freshDatabase, type FreshDatabase, openDatabase, until } from './testing/index.js';
import { Wire } from './testing/wire.js';

const addNote = sqlStatement<{ id: bigint }>(
  'doubt.add-note',
  'insert into note (workspace_id, id, text) values (7, $1, $2) returning id',
);
const lockNote = sqlStatement('doubt.lock-note', 'select id from note where id = $1 for update');
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

describe('a database transaction whose connection is lost at COMMIT', () => {
  let wire: Wire;
  let database: Database;

  beforeEach(async () => {
    wire = await Wire.lay(world.connection);
    database = await openDatabase({
      connection: wire.connection,
      role: API_ROLE,
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

  it('is in doubt if the server has not read COMMIT, and is rolled back', async () => {
    wire.toServer = (bytes) => (bytes.includes('commit') ? { isCut: true } : { pass: bytes });

    await expect(write()).rejects.toBeInstanceOf(CommitInDoubtError);

    expect(await notes()).toEqual([]);
  });

  it('is in doubt where the response is lost, and is committed', async () => {
    wire.toClient = (bytes) => (bytes.includes('COMMIT') ? { isCut: true } : { pass: bytes });

    await expect(write()).rejects.toBeInstanceOf(CommitInDoubtError);

    expect(await notes()).toEqual(['written']);
  });

  it('is committed where the tag of COMMIT was received', async () => {
    const readyForQueryBytes = 6;
    wire.toClient = (bytes) =>
      bytes.includes('COMMIT') ? { pass: bytes.subarray(0, -readyForQueryBytes), isCut: true } : { pass: bytes };

    await expect(write()).resolves.toEqual([[{ id: 1n }]]);

    expect(await notes()).toEqual(['written']);
    wire.toClient = (bytes) => ({ pass: bytes });
    await expect(database.ping()).resolves.toBeUndefined();
  });

  it('is in doubt after a FATAL instead of the response, although that has an error code', async () => {
    wire.toClient = (bytes) =>
      bytes.includes('COMMIT') ? { pass: fatal(SQLSTATE.adminShutdown), isCut: true } : { pass: bytes };

    const doubt = await write().catch((error: unknown) => error);

    expect(doubt).toBeInstanceOf(CommitInDoubtError);
    expect(doubt).toMatchObject({ cause: { name: 'ConnectionLost', cause: { code: SQLSTATE.adminShutdown } } });
    expect(await notes()).toEqual(['written']);
  });

  it('is in doubt if the server does not respond in time', async () => {
    wire.toServer = (bytes) => (bytes.includes('commit') ? {} : { pass: bytes });

    await expect(write()).rejects.toBeInstanceOf(CommitInDoubtError);
  });

  it('is unavailable, not in doubt, where an earlier pipeline is lost', async () => {
    const done = database.transaction(scope, async (tx) => {
      wire.toServer = () => ({ isCut: true });
      await tx.pipeline([bind(addNote, 1, 'lost')]);
      await tx.commit();
    });

    await expect(done).rejects.toMatchObject({ reason: 'unavailable' });
    expect(await notes()).toEqual([]);
  });

  it('is in doubt where an administrator ends the session during the last pipeline', async () => {
    await world.owner.query(`insert into note (workspace_id, id, text) values (7, 1, 'locked')`);
    await world.owner.query('begin; select from note for update');
    const waiting = await openDatabase({ connection: world.connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
    const done = waiting.transaction(scope, (tx) => tx.commit([bind(lockNote, 1)]));
    done.catch(() => undefined);

    await until(async () => {
      // A database transaction sees the sessions as they were at its first look.
      await world.owner.query('select pg_stat_clear_snapshot()');
      const { rowCount } = await world.owner.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rowCount !== 0;
    });

    await expect(done).rejects.toBeInstanceOf(CommitInDoubtError);
    await world.owner.query('rollback');
    await waiting.end();
  });
});

describe('a database transaction with an error during COMMIT', () => {
  /** Runs SQL at COMMIT, before the server writes the commit record. */
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

  it.each([SQLSTATE.internalError, SQLSTATE.queryCanceled, SQLSTATE.serializationFailure, SQLSTATE.ioError])(
    'is rolled back without doubt after %s',
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

  it('is in doubt where the error ends the session', async () => {
    await atCommit('perform pg_terminate_backend(pg_backend_pid())');

    for (const done of [write, writeAlone]) await expect(done()).rejects.toBeInstanceOf(CommitInDoubtError);
    expect(await notes()).toEqual([]);
  });
});

describe('a write whose connection is lost', () => {
  let wire: Wire;
  let database: Database;

  beforeEach(async () => {
    wire = await Wire.lay(world.connection);
    database = await openDatabase({ connection: wire.connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
  });
  afterEach(async () => {
    await database.end();
    await wire.remove();
  });

  const write = () => database.write(scope, [bind(addNote, 1, 'written')]);

  it('is in doubt where the server has not read it, and is rolled back', async () => {
    wire.toServer = () => ({ isCut: true });

    await expect(write()).rejects.toMatchObject({ reason: 'outcome_unknown', retryAfterSeconds: 1 });
    expect(await notes()).toEqual([]);
  });

  it('is in doubt where the response is lost, and is committed', async () => {
    wire.toClient = () => ({ isCut: true });

    await expect(write()).rejects.toMatchObject({ reason: 'outcome_unknown' });
    expect(await notes()).toEqual(['written']);
  });

  it('is in doubt where only ReadyForQuery is missing', async () => {
    wire.toClient = (bytes) => ({ pass: bytes.subarray(0, -6), isCut: true });

    await expect(write()).rejects.toMatchObject({ reason: 'outcome_unknown' });
  });

  it('is unavailable where nothing was sent, and is rolled back', async () => {
    await expect(
      database.transaction(scope, async (tx) => {
        await tx.pipeline([bind(addNote, 1, 'lost')]);
        await wire.remove();
        // The pipeline reads that the connection has ended before it sends anything more.
        await expect(tx.pipeline([bind(addNote, 2, 'lost')])).rejects.toMatchObject({ reason: 'unavailable' });
        await tx.commit();
      }),
    ).rejects.toMatchObject({ reason: 'unavailable', cause: { wasSent: false } });
    expect(await notes()).toEqual([]);
  });

  it('is unavailable where it was sent with `pipeline`', async () => {
    wire.toClient = () => ({ isCut: true });

    await expect(database.pipeline(scope, [bind(addNote, 1, 'written')])).rejects.toMatchObject({
      reason: 'unavailable',
    });
  });
});

/** The ErrorResponse that a server or a pooler sends before it closes the connection. */
function fatal(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mterminating connection\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
