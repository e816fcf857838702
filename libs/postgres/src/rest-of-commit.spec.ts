import { setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal } from '@banking/domain';
import { Database } from './database.js';
import { CommitInDoubtError } from './failures.js';
import { APP_ROLE, SCHEMA } from './names.js';
import { bind, sqlStatement } from './sql-statement.js';
import { SQLSTATE } from './sqlstate.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';
import { Wire } from './testing/wire.js';

const LOCK = 4711;

const addNote = sqlStatement<{ id: bigint }>(
  'rest.add-note',
  'insert into note (workspace_id, id, text) values (7, $1, $2) returning id',
);
const readNotes = sqlStatement<{ text: string }>('rest.notes', 'select text from note order by id');
const lock = bind(sqlStatement('rest.lock', `select pg_advisory_xact_lock(${LOCK})`));
const fail = bind(sqlStatement('rest.fail', 'select 1 / 0'));
const scope = { workspaces: [7] };

let world: FreshDatabase;

beforeAll(async () => {
  world = await freshDatabase({ poolSize: 1 });
});
afterAll(() => world.close());
beforeEach(() => world.owner.query('truncate note'));

async function notes(): Promise<string[]> {
  const { rows } = await world.owner.query<{ text: string }>('select text from note order by id');
  return rows.map((row) => row.text);
}

async function isLocked(): Promise<boolean> {
  const { rows } = await world.owner.query(`select from pg_locks where locktype = 'advisory' and objid = ${LOCK}`);
  return rows.length > 0;
}

describe('a commit with a rest', () => {
  it('is carried out while the rest is made', async () => {
    await world.database.transaction(scope, (tx) =>
      tx.commit([lock, bind(addNote, 1, 'first')], async () => {
        while (!(await isLocked()));
        return [bind(addNote, 2, 'rest')];
      }),
    );

    expect(await notes()).toEqual(['first', 'rest']);
    expect(await isLocked()).toBe(false);
  });

  it('returns the rows of the first statements, also when all are prepared', async () => {
    const commit = () =>
      world.database.transaction(scope, async (tx) => {
        const [[note], all] = await tx.commit([bind(addNote, 1, 'first'), bind(readNotes)], async () => [
          bind(readNotes),
          bind(addNote, 2, 'rest'),
        ]);
        return { note, all };
      });

    for (let time = 0; time < 2; time += 1) {
      expect(await commit()).toEqual({ note: { id: 1n }, all: [{ text: 'first' }] });
      expect(await notes()).toEqual(['first', 'rest']);
      await world.owner.query('truncate note');
    }
  });

  it('has a rest only', async () => {
    await world.database.transaction(scope, async (tx) => {
      await tx.pipeline([bind(addNote, 1, 'first')]);
      await tx.commit([], async () => [bind(addNote, 2, 'rest')]);
    });

    expect(await notes()).toEqual(['first', 'rest']);
  });

  it('is rolled back where the rest cannot be made, with its error', async () => {
    const refusal = new Refusal('amount_out_of_range');
    const { stack } = refusal;

    const done = world.database.transaction(scope, (tx) =>
      tx.commit([bind(addNote, 1, 'lost')], () => Promise.reject(refusal)),
    );

    await expect(done).rejects.toBe(refusal);
    expect(refusal.stack).toBe(stack);
    expect(await notes()).toEqual([]);
    expect(world.database.stats()).toMatchObject({ total: 1, idle: 1 });
  });

  it.each([
    ['first', [fail], []],
    ['rest', [], [fail]],
  ])('is rolled back where a statement of the %s fails', async (_, first, rest) => {
    const done = world.database.transaction(scope, (tx) =>
      tx.commit([bind(addNote, 1, 'lost'), ...first], async () => [...rest, bind(addNote, 2, 'lost')]),
    );

    await expect(done).rejects.toMatchObject({ code: SQLSTATE.divisionByZero, statement: 'rest.fail' });
    expect(await notes()).toEqual([]);
    expect(world.database.stats()).toMatchObject({ total: 1, idle: 1 });
  });

  it('refuses a text with the name of another statement, and is rolled back', async () => {
    const other = { statement: { name: 'rest.add-note', text: 'select 1' }, values: [] };

    const done = world.database.transaction(scope, (tx) =>
      tx.commit([bind(addNote, 1, 'lost')], () => Promise.resolve([other])),
    );

    await expect(done).rejects.toThrow('two statements are named "rest.add-note"');
    expect(await notes()).toEqual([]);
  });
});

describe('a commit with a rest whose connection is lost', () => {
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

  const commit = (beforeRest: () => Promise<void>) =>
    database.transaction(scope, async (tx) => {
      await tx.pipeline([bind(addNote, 1, 'first')]);
      await tx.commit([bind(addNote, 2, 'second')], async () => {
        await beforeRest();
        return [bind(addNote, 3, 'rest')];
      });
    });

  it('is unavailable, and not in doubt, before the rest is sent', async () => {
    let isOver = false;
    const error = await commit(async () => {
      await wire.remove();
      while (!isOver) await nextTurn();
    })
      .finally(() => (isOver = true))
      .catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ reason: 'unavailable', cause: { wasSent: false } });
    expect(error).not.toBeInstanceOf(CommitInDoubtError);
    expect(await notes()).toEqual([]);
  });

  it('is in doubt where the server has not read COMMIT, and is rolled back', async () => {
    wire.toServer = (bytes) => (bytes.includes('commit') ? { isCut: true } : { pass: bytes });

    await expect(commit(() => Promise.resolve())).rejects.toBeInstanceOf(CommitInDoubtError);
    expect(await notes()).toEqual([]);
  });

  it('is done where the response is complete but for ReadyForQuery', async () => {
    wire.toClient = (bytes) =>
      bytes.includes('COMMIT') ? { pass: bytes.subarray(0, -6), isCut: true } : { pass: bytes };

    await commit(() => Promise.resolve());
    expect(await notes()).toEqual(['first', 'second', 'rest']);
  });
});
