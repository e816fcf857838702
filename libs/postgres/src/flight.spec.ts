import { DatabaseError } from 'pg';
import { bind, statement } from './statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

const addNote = statement<{ id: bigint }>(
  'flight.add-note',
  'insert into note (workspace_id, id, text) values ($1, $2, $3) returning id',
);
const renameNote = statement<never>('flight.rename-note', 'update note set text = $2 where id = $1');
const readNotes = statement<{ id: bigint; text: string }>('flight.notes', 'select id, text from note order by id');
const showScope = statement<{ workspaces: string | null; user: string | null }>(
  'flight.show-scope',
  `select current_setting('app.workspaces', true) as workspaces, current_setting('app.user', true) as user`,
);
const divide = statement<{ result: number }>('flight.divide', 'select 100 / $1::int as result');
const unparsable = statement('flight.unparsable', 'selekt 1');

describe('a flight', () => {
  let world: FreshDatabase;

  beforeAll(async () => {
    // One connection, so that what one flight left behind would be the next one's.
    world = await freshDatabase({ poolSize: 1 });
  });
  afterAll(() => world.close());
  beforeEach(() => world.owner.query('truncate note'));

  it('answers the rows of each statement in order', async () => {
    const { database } = world;

    const [added, renamed, notes] = await database.flight({ workspaces: [7] }, [
      bind(addNote, 7, 1n, 'first'),
      bind(renameNote, 1, 'renamed'),
      bind(readNotes),
    ]);

    const id: bigint | undefined = added[0]?.id;
    expect(id).toBe(1n);
    expect(renamed).toEqual([]);
    expect(notes).toEqual([{ id: 1n, text: 'renamed' }]);
  });

  it('answers the same when the connection knows the statements already', async () => {
    const { database } = world;
    const send = (id: number) =>
      database.flight({ workspaces: [7] }, [
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

  it('may carry one statement several times', async () => {
    const rows = await world.database.flight({}, [bind(divide, 10), bind(divide, 50), bind(divide, 10)]);

    expect(rows).toEqual([[{ result: 10 }], [{ result: 2 }], [{ result: 10 }]]);
  });

  it('stops at the first error, undoes what came before and leaves no scope behind', async () => {
    const { database } = world;

    const sent = database.flight({ workspaces: [7], user: 3 }, [
      bind(addNote, 7, 1, 'lost'),
      bind(divide, 0),
      bind(addNote, 7, 2, 'never'),
    ]);

    await expect(sent).rejects.toMatchObject({ code: '22012', statement: 'flight.divide' });
    await expect(sent).rejects.toBeInstanceOf(DatabaseError);
    expect((await world.owner.query('select from note')).rowCount).toBe(0);
    expect(await database.read({}, bind(showScope))).toEqual({ workspaces: '', user: '' });
  });

  it('carries out a statement again that was parsed and then failed', async () => {
    const fresh = statement<{ result: number }>('flight.divide-fresh', 'select 60 / $1::int as result');

    await expect(world.database.read({}, bind(fresh, 0))).rejects.toMatchObject({ code: '22012' });
    const again = await world.database.flight({}, [bind(fresh, 20), bind(fresh, 30)]);

    expect(again).toEqual([[{ result: 3 }], [{ result: 2 }]]);
  });

  it('parses a statement again that could not be parsed', async () => {
    const early = statement<{ one: number }>('flight.early', 'select 1 as one from not_yet');
    await expect(world.database.read({}, bind(early))).rejects.toMatchObject({ code: '42P01' });

    await world.owner.query(
      'create table not_yet (); insert into not_yet default values; grant select on not_yet to banking_app',
    );
    const row = await world.database.read({}, bind(early));

    expect(row).toEqual({ one: 1 });
  });

  it('remembers the statements before the one that failed and none behind it', async () => {
    const before = statement('flight.before', 'select 1 as before');
    const behind = statement('flight.behind', 'select 1 as behind');

    await expect(world.database.flight({}, [bind(before), bind(unparsable), bind(behind)])).rejects.toMatchObject({
      code: '42601',
      statement: 'flight.unparsable',
    });

    expect(await world.database.flight({}, [bind(before), bind(behind)])).toEqual([[{ before: 1 }], [{ behind: 1 }]]);
  });

  it('is bound by its scope alone', async () => {
    const { database } = world;
    await database.flight({ workspaces: [7, 8] }, [bind(addNote, 7, 1, 'seven'), bind(addNote, 8, 2, 'eight')]);

    const seen = await Promise.all([
      database.flight({ workspaces: [8] }, [bind(readNotes)]),
      database.flight({ workspaces: [] }, [bind(readNotes)]),
      database.flight({}, [bind(readNotes)]),
    ]);

    expect(seen).toEqual([[[{ id: 2n, text: 'eight' }]], [[]], [[]]]);
    await expect(database.flight({ workspaces: [8] }, [bind(addNote, 7, 3, 'not mine')])).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('refuses a scope that names no id', async () => {
    await expect(world.database.read({ workspaces: [0] }, bind(showScope))).rejects.toThrow('not an id: 0');
    await expect(world.database.read({ user: 1.5 }, bind(showScope))).rejects.toThrow('not an id: 1.5');
  });

  it('refuses to leave a database transaction open', async () => {
    const open = statement('flight.open', 'begin');

    await expect(world.database.flight({}, [bind(open)])).rejects.toThrow('left a database transaction open');

    expect(await world.database.read({}, bind(divide, 100))).toEqual({ result: 1 });
  });

  it('gives up connections whose plans no longer fit the tables, and serves on the next', async () => {
    const readAll = statement('flight.read-all', 'select * from shifting');
    await world.owner.query(
      'create table shifting (a int); insert into shifting values (1); grant select on shifting to banking_app',
    );
    await world.database.read({}, bind(readAll));

    await world.owner.query('alter table shifting add b int');
    await expect(world.database.read({}, bind(readAll))).rejects.toMatchObject({ reason: 'unavailable' });

    expect(await world.database.read({}, bind(readAll))).toEqual({ a: 1, b: null });
  });

  it.each(['copy bulk from stdin', 'copy bulk to stdout'])('does not carry %s, and says so', async (text) => {
    await world.owner.query('create table if not exists bulk (id int); grant all on bulk to banking_app');
    await world.owner.query('insert into bulk values (1)');

    const sent = world.database.flight({}, [bind(statement(`flight.${text}`, text))]);

    await expect(sent).rejects.toThrow('a flight cannot carry COPY data');
    expect(await world.database.read({}, bind(divide, 100))).toEqual({ result: 1 });
  });

  it('is typed by its statements', async () => {
    const [[note], [quotient]] = await world.database.flight({}, [bind(readNotes), bind(divide, 5)]);

    // @ts-expect-error -- an id is a bigint
    const id: number | undefined = note?.id;
    // @ts-expect-error -- there is no such column
    const missing: unknown = quotient?.remainder;
    // @ts-expect-error -- there are two lists of rows
    const none = (await world.database.flight({}, [bind(readNotes), bind(divide, 5)]))[2];

    expect([id, missing, none]).toEqual([undefined, undefined, undefined]);
  });
});

describe('a flight without names', () => {
  it('leaves nothing in the server and answers the same', async () => {
    const world = await freshDatabase({ poolSize: 1, nameStatements: false });
    const count = statement<{ n: number }>('flight.prepared', 'select count(*)::int as n from pg_prepared_statements');

    const rows = await world.database.flight({}, [bind(divide, 10), bind(divide, 5), bind(count)]);
    const failed = world.database.flight({}, [bind(divide, 0)]);

    expect(rows).toEqual([[{ result: 10 }], [{ result: 20 }], [{ n: 0 }]]);
    await expect(failed).rejects.toMatchObject({ code: '22012' });
    await world.close();
  });
});
