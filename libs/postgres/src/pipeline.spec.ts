import { SQLSTATE } from './sqlstate.js';
import { DatabaseError } from 'pg';
import { bind, sqlStatement } from './sql-statement.js';
import { freshDatabase, type FreshDatabase, until } from './testing/index.js';

const addNote = sqlStatement<{ id: bigint }>(
  'pipeline.add-note',
  'insert into note (workspace_id, id, text) values ($1, $2, $3) returning id',
);
const renameNote = sqlStatement<never>('pipeline.rename-note', 'update note set text = $2 where id = $1');
const readNotes = sqlStatement<{ id: bigint; text: string }>('pipeline.notes', 'select id, text from note order by id');
const showScope = sqlStatement<{ workspaces: string | null; user: string | null }>(
  'pipeline.show-scope',
  `select current_setting('app.workspaces', true) as workspaces, current_setting('app.user', true) as user`,
);
const divide = sqlStatement<{ result: number }>('pipeline.divide', 'select 100 / $1::int as result');
const unparsable = sqlStatement('pipeline.unparsable', 'selekt 1');

describe('a pipeline', () => {
  let world: FreshDatabase;

  beforeAll(async () => {
    // One connection, so that state which a pipeline leaves on it affects the next.
    world = await freshDatabase({ poolSize: 1 });
  });
  afterAll(() => world.close());
  beforeEach(() => world.owner.query('truncate note'));

  it('returns the rows of each statement in order', async () => {
    const { database } = world;

    const [added, renamed, notes] = await database.pipeline({ workspaces: [7] }, [
      bind(addNote, 7, 1n, 'first'),
      bind(renameNote, 1, 'renamed'),
      bind(readNotes),
    ]);

    const id: bigint | undefined = added[0]?.id;
    expect(id).toBe(1n);
    expect(renamed).toEqual([]);
    expect(notes).toEqual([{ id: 1n, text: 'renamed' }]);
  });

  it('returns the same when the statements are prepared already', async () => {
    const { database } = world;
    const send = (id: number) =>
      database.pipeline({ workspaces: [7] }, [
        bind(addNote, 7, id, 'note'),
        bind(renameNote, id, `${id}`),
        bind(readNotes),
      ]);

    await send(1);
    const second = await send(2);

    expect(second).toEqual([
      [{ id: 2n }],
      [],
      [
        { id: 1n, text: '1' },
        { id: 2n, text: '2' },
      ],
    ]);
  });

  it('may contain one statement several times', async () => {
    const rows = await world.database.pipeline({}, [bind(divide, 10), bind(divide, 50), bind(divide, 10)]);

    expect(rows).toEqual([[{ result: 10 }], [{ result: 2 }], [{ result: 10 }]]);
  });

  it('stops at the first error, rolls back and leaves no scope on the connection', async () => {
    const { database } = world;

    const sent = database.pipeline({ workspaces: [7], user: 3 }, [
      bind(addNote, 7, 1, 'lost'),
      bind(divide, 0),
      bind(addNote, 7, 2, 'never'),
    ]);

    await expect(sent).rejects.toMatchObject({ code: SQLSTATE.divisionByZero, statement: 'pipeline.divide' });
    await expect(sent).rejects.toBeInstanceOf(DatabaseError);
    expect((await world.owner.query('select from note')).rowCount).toBe(0);
    expect(await database.read({}, bind(showScope))).toEqual({ workspaces: '', user: '' });
  });

  it('executes a statement again that was parsed and then failed', async () => {
    const fresh = sqlStatement<{ result: number }>('pipeline.divide-fresh', 'select 60 / $1::int as result');

    await expect(world.database.read({}, bind(fresh, 0))).rejects.toMatchObject({ code: SQLSTATE.divisionByZero });
    const again = await world.database.pipeline({}, [bind(fresh, 20), bind(fresh, 30)]);

    expect(again).toEqual([[{ result: 3 }], [{ result: 2 }]]);
  });

  it('parses a statement again that could not be parsed', async () => {
    const early = sqlStatement<{ one: number }>('pipeline.early', 'select 1 as one from not_yet');
    await expect(world.database.read({}, bind(early))).rejects.toMatchObject({ code: SQLSTATE.undefinedTable });

    await world.owner.query(
      'create table not_yet (); insert into not_yet default values; grant select on not_yet to banking_operator',
    );
    const row = await world.database.read({}, bind(early));

    expect(row).toEqual({ one: 1 });
  });

  it('keeps the statements prepared before the one that failed and none behind it', async () => {
    const before = sqlStatement('pipeline.before', 'select 1 as before');
    const behind = sqlStatement('pipeline.behind', 'select 1 as behind');

    await expect(world.database.pipeline({}, [bind(before), bind(unparsable), bind(behind)])).rejects.toMatchObject({
      code: SQLSTATE.syntaxError,
      statement: 'pipeline.unparsable',
    });

    expect(await world.database.pipeline({}, [bind(before), bind(behind)])).toEqual([[{ before: 1 }], [{ behind: 1 }]]);
  });

  it('is bound by its scope alone', async () => {
    const { database } = world;
    await database.pipeline({ workspaces: [7, 8] }, [bind(addNote, 7, 1, 'seven'), bind(addNote, 8, 2, 'eight')]);

    const seen = await Promise.all([
      database.pipeline({ workspaces: [8] }, [bind(readNotes)]),
      database.pipeline({ workspaces: [] }, [bind(readNotes)]),
      database.pipeline({}, [bind(readNotes)]),
    ]);

    expect(seen).toEqual([[[{ id: 2n, text: 'eight' }]], [[]], [[]]]);
    await expect(database.pipeline({ workspaces: [8] }, [bind(addNote, 7, 3, 'not mine')])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });

  it('refuses a scope that names no id', async () => {
    await expect(world.database.read({ workspaces: [0] }, bind(showScope))).rejects.toThrow('not an id: 0');
    await expect(world.database.read({ user: 1.5 }, bind(showScope))).rejects.toThrow('not an id: 1.5');
  });

  it('refuses to leave a database transaction open', async () => {
    const open = sqlStatement('pipeline.open', 'begin');

    await expect(world.database.pipeline({}, [bind(open)])).rejects.toThrow('left a database transaction open');

    expect(await world.database.read({}, bind(divide, 100))).toEqual({ result: 1 });
  });

  it('replaces connections with stale plans', async () => {
    const readAll = sqlStatement('pipeline.read-all', 'select * from shifting');
    await world.owner.query(
      'create table shifting (a int); insert into shifting values (1); grant select on shifting to banking_operator',
    );
    await world.database.read({}, bind(readAll));

    await world.owner.query('alter table shifting add b int');
    await expect(world.database.read({}, bind(readAll))).rejects.toMatchObject({ reason: 'unavailable' });

    expect(await world.database.read({}, bind(readAll))).toEqual({ a: 1, b: null });
  });

  it.each(['copy bulk from stdin', 'copy bulk to stdout'])('refuses %s', async (text) => {
    await world.owner.query('create table if not exists bulk (id int); grant all on bulk to banking_operator');
    await world.owner.query('insert into bulk values (1)');

    const sent = world.database.pipeline({}, [bind(sqlStatement(`pipeline.${text}`, text))]);

    await expect(sent).rejects.toThrow('a pipeline cannot carry COPY data');
    expect(await world.database.read({}, bind(divide, 100))).toEqual({ result: 1 });
  });

  it('takes a snapshot for each statement', async () => {
    const { database, owner } = world;
    await owner.query('select pg_advisory_lock(7)');
    const lock = sqlStatement('pipeline.lock', 'select pg_advisory_xact_lock(7)');
    const reading = database.pipeline({ workspaces: [7] }, [bind(readNotes), bind(lock), bind(readNotes)]);
    const waiting = `select from pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and locktype = 'advisory' and not granted`;
    await until(async () => (await owner.query(waiting)).rowCount !== 0);
    await owner.query(`insert into note (workspace_id, id, text) values (7, 1, 'late')`);
    await owner.query('select pg_advisory_unlock(7)');

    const [before, , after] = await reading;

    expect([before.length, after.length]).toEqual([0, 1]);
  });

  it('is typed by its statements', async () => {
    const [[note], [quotient]] = await world.database.pipeline({}, [bind(readNotes), bind(divide, 5)]);

    // @ts-expect-error -- an id is a bigint
    const id: number | undefined = note?.id;
    // @ts-expect-error -- there is no such column
    const missing: unknown = quotient?.remainder;
    // @ts-expect-error -- there are two lists of rows
    const none = (await world.database.pipeline({}, [bind(readNotes), bind(divide, 5)]))[2];

    expect([id, missing, none]).toEqual([undefined, undefined, undefined]);
  });
});

describe('a pipeline without names', () => {
  it('leaves no prepared statement on the connection and returns the same rows', async () => {
    const world = await freshDatabase({ poolSize: 1, nameStatements: false });
    const count = sqlStatement<{ n: number }>(
      'pipeline.prepared',
      'select count(*)::int as n from pg_prepared_statements',
    );

    const rows = await world.database.pipeline({}, [bind(divide, 10), bind(divide, 5), bind(count)]);
    const failed = world.database.pipeline({}, [bind(divide, 0)]);

    expect(rows).toEqual([[{ result: 10 }], [{ result: 20 }], [{ n: 0 }]]);
    await expect(failed).rejects.toMatchObject({ code: SQLSTATE.divisionByZero });
    await world.close();
  });
});
