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
