import { SQLSTATE } from './sqlstate.js';
import { EventEmitter, once } from 'node:events';
import { Refusal } from '@banking/domain';
import { bind, sqlStatement } from './sql-statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

const addNote = sqlStatement<{ id: bigint }>(
  'tx.add-note',
  'insert into note (workspace_id, id, text, written_by) values (7, $1, $2, $3) returning id',
);
const lockNote = sqlStatement('tx.lock-note', 'select id from note where id = $1 for update');
const fail = sqlStatement('tx.fail', 'select 1 / 0');
const whoAmI = sqlStatement<{ user: string }>('tx.who', `select current_setting('app.user', true) as user`);
const durability = bind(sqlStatement('tx.durability', `select current_setting('synchronous_commit') as value`));
const scope = { workspaces: [7], user: 3 };

let world: FreshDatabase;

beforeAll(async () => {
  world = await freshDatabase({ poolSize: 2 });
});
afterAll(() => world.close());
beforeEach(() => world.owner.query('truncate note'));

async function notes(): Promise<string[]> {
  const { rows } = await world.owner.query<{ text: string }>('select text from note order by id');
  return rows.map((row) => row.text);
}

describe('a database transaction', () => {
  it('commits the writes of every pipeline', async () => {
    const ids = await world.database.transaction(scope, async (tx) => {
      const [first] = await tx.pipeline([bind(addNote, 1, 'one', 3), bind(whoAmI)]);
      const [last] = await tx.commit([bind(addNote, 2, 'two', 3)]);
      return [first[0]?.id, last[0]?.id];
    });

    expect(ids).toEqual([1n, 2n]);
    expect(await notes()).toEqual(['one', 'two']);
  });

  it('has its scope in every pipeline and leaves none on the connection', async () => {
    const alone = await freshDatabase({ poolSize: 1 });

    const users = await alone.database.transaction(scope, async (tx) => {
      const [first] = await tx.pipeline([bind(whoAmI)]);
      const [second] = await tx.pipeline([bind(whoAmI)]);
      const [last] = await tx.commit([bind(whoAmI)]);
      return [first, second, last].map((rows) => rows[0]?.user);
    });

    expect(users).toEqual(['3', '3', '3']);
    expect(await alone.database.read({}, bind(whoAmI))).toEqual({ user: '' });
    await alone.close();
  });

  it('commits durably', async () => {
    const [rows] = await world.database.transaction(scope, (tx) => tx.commit([durability]));

    expect(rows).toEqual([{ value: 'on' }]);
  });

  it('is one pipeline when every statement is sent with the commit', async () => {
    await world.database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'at once', null)]));

    expect(await notes()).toEqual(['at once']);
  });

  it('rolls back without a commit', async () => {
    await world.database.transaction(scope, (tx) => tx.pipeline([bind(addNote, 1, 'lost', null)]));

    expect(await notes()).toEqual([]);
  });

  it('rolls back when the work throws, and throws the same error', async () => {
    const done = world.database.transaction(scope, async (tx) => {
      await tx.pipeline([bind(addNote, 1, 'lost', null)]);
      throw new Refusal('amount_out_of_range');
    });

    await expect(done).rejects.toMatchObject({ reason: 'amount_out_of_range' });
    expect(await notes()).toEqual([]);
  });

  it('rolls back when a statement before the commit in its pipeline fails', async () => {
    const done = world.database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'lost', null), bind(fail)]));

    await expect(done).rejects.toMatchObject({ code: SQLSTATE.divisionByZero });
    expect(await notes()).toEqual([]);
  });

  it('reports a COMMIT with the tag ROLLBACK', async () => {
    const done = world.database.transaction(scope, async (tx) => {
      await tx.pipeline([bind(addNote, 1, 'lost', null)]);
      await tx.pipeline([bind(fail)]).catch(() => undefined);
      await tx.commit();
    });

    await expect(done).rejects.toThrow('COMMIT answered ROLLBACK');
    expect(await notes()).toEqual([]);
    expect(world.database.stats().total).toBe(world.database.stats().idle);
  });

  it('reports a statement that ended it', async () => {
    const end = sqlStatement('tx.end', 'rollback');

    const done = world.database.transaction(scope, (tx) => tx.pipeline([bind(end)]));

    await expect(done).rejects.toThrow('ended the database transaction');
  });

  it('refuses statements after the commit', async () => {
    const done = world.database.transaction(scope, async (tx) => {
      await tx.commit([bind(addNote, 1, 'committed', null)]);
      await tx.pipeline([bind(addNote, 2, 'too late', null)]);
    });

    await expect(done).rejects.toThrow('is over');
    expect(await notes()).toEqual(['committed']);
  });

  it('sends one pipeline at a time', async () => {
    const done = world.database.transaction(scope, (tx) =>
      Promise.all([tx.pipeline([bind(addNote, 1, 'one', null)]), tx.pipeline([bind(addNote, 2, 'two', null)])]),
    );

    await expect(done).rejects.toThrow('one pipeline at a time');
    expect(await notes()).toEqual([]);
    await expect(world.database.ping()).resolves.toBeUndefined();
  });
});

describe('two database transactions with a deadlock', () => {
  it('both commit: the one that the server rolls back is tried again', async () => {
    await world.owner.query(`insert into note (workspace_id, id, text) values (7, 1, 'a'), (7, 2, 'b')`);
    const locked = new EventEmitter();
    const bothLocked = [once(locked, '0'), once(locked, '1')] as const;
    let tries = 0;
    /** Locks one note, waits until the other side has locked its own, then locks that one too. */
    const side = (mine: 0 | 1) =>
      world.database.transaction(scope, async (tx) => {
        tries += 1;
        await tx.pipeline([bind(lockNote, mine + 1)]);
        locked.emit(String(mine));
        await Promise.all(bothLocked);
        await tx.commit([bind(lockNote, 2 - mine)]);
      });

    const outcomes = await Promise.allSettled([side(0), side(1)]);

    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'fulfilled']);
    expect(tries).toBe(3);
  });
});

describe('work that conflicts at every try', () => {
  const conflict = (code: string) =>
    sqlStatement(`tx.conflict-${code}`, `do $$ begin raise exception 'conflict' using errcode = '${code}'; end $$`);

  it.each([SQLSTATE.serializationFailure, SQLSTATE.deadlockDetected])(
    'is tried five times after %s and then refused as unavailable',
    async (code) => {
      let tries = 0;

      const done = world.database.transaction(scope, async (tx) => {
        tries += 1;
        await tx.commit([bind(conflict(code))]);
      });

      await expect(done).rejects.toMatchObject({ status: 503, retryAfterSeconds: 1, cause: { code } });
      expect(tries).toBe(5);
    },
  );

  it('is tried five times as a pipeline', async () => {
    await world.owner.query('create sequence if not exists tries; grant usage on tries to public');
    const tried = sqlStatement<{ nth: bigint }>('tx.tried', `select nextval('tries') as nth`);

    const done = world.database.pipeline(scope, [bind(tried), bind(conflict(SQLSTATE.serializationFailure))]);

    await expect(done).rejects.toMatchObject({ status: 503 });
    expect((await world.database.read(scope, bind(tried)))?.nth).toBe(6n);
  });

  it('is tried once where it fails for another reason', async () => {
    let tries = 0;

    const done = world.database.transaction(scope, async (tx) => {
      tries += 1;
      await tx.commit([bind(fail)]);
    });

    await expect(done).rejects.toMatchObject({ code: SQLSTATE.divisionByZero });
    expect(tries).toBe(1);
  });
});
