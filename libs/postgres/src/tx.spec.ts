import { EventEmitter, once } from 'node:events';
import { Refusal } from '@banking/domain';
import { bind, statement } from './statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

const addNote = statement<{ id: bigint }>(
  'tx.add-note',
  'insert into note (workspace_id, id, text, written_by) values (7, $1, $2, $3) returning id',
);
const lockNote = statement('tx.lock-note', 'select id from note where id = $1 for update');
const fail = statement('tx.fail', 'select 1 / 0');
const whoAmI = statement<{ user: string }>('tx.who', `select current_setting('app.user', true) as user`);
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
  it('keeps what several flights and the commit itself carried', async () => {
    const answer = await world.database.transaction(scope, async (tx) => {
      const [first] = await tx.flight([bind(addNote, 1, 'one', 3), bind(whoAmI)]);
      const [last] = await tx.commit([bind(addNote, 2, 'two', 3)]);
      return [first[0]?.id, last[0]?.id];
    });

    expect(answer).toEqual([1n, 2n]);
    expect(await notes()).toEqual(['one', 'two']);
  });

  it('has its scope in every flight and leaves none behind', async () => {
    const alone = await freshDatabase({ poolSize: 1 });

    const users = await alone.database.transaction(scope, async (tx) => {
      const [first] = await tx.flight([bind(whoAmI)]);
      const [second] = await tx.flight([bind(whoAmI)]);
      const [last] = await tx.commit([bind(whoAmI)]);
      return [first, second, last].map((rows) => rows[0]?.user);
    });

    expect(users).toEqual(['3', '3', '3']);
    expect(await alone.database.read({}, bind(whoAmI))).toEqual({ user: '' });
    await alone.close();
  });

  it('is one flight when all of it travels with the commit', async () => {
    await world.database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'at once', null)]));

    expect(await notes()).toEqual(['at once']);
  });

  it('rolls back without a commit', async () => {
    await world.database.transaction(scope, (tx) => tx.flight([bind(addNote, 1, 'lost', null)]));

    expect(await notes()).toEqual([]);
  });

  it('rolls back when the work throws, and throws that', async () => {
    const done = world.database.transaction(scope, async (tx) => {
      await tx.flight([bind(addNote, 1, 'lost', null)]);
      throw new Refusal('amount_out_of_range');
    });

    await expect(done).rejects.toMatchObject({ reason: 'amount_out_of_range' });
    expect(await notes()).toEqual([]);
  });

  it('rolls back when a statement before the commit in its flight fails', async () => {
    const done = world.database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'lost', null), bind(fail)]));

    await expect(done).rejects.toMatchObject({ code: '22012' });
    expect(await notes()).toEqual([]);
  });

  it('reports a COMMIT that answered ROLLBACK', async () => {
    const done = world.database.transaction(scope, async (tx) => {
      await tx.flight([bind(addNote, 1, 'lost', null)]);
      await tx.flight([bind(fail)]).catch(() => undefined);
      await tx.commit();
    });

    await expect(done).rejects.toThrow('COMMIT answered ROLLBACK');
    expect(await notes()).toEqual([]);
    expect(world.database.stats().total).toBe(world.database.stats().idle);
  });

  it('reports a statement that ended it', async () => {
    const end = statement('tx.end', 'rollback');

    const done = world.database.transaction(scope, (tx) => tx.flight([bind(end)]));

    await expect(done).rejects.toThrow('ended the database transaction');
  });

  it('is over after the commit', async () => {
    const done = world.database.transaction(scope, async (tx) => {
      await tx.commit([bind(addNote, 1, 'kept', null)]);
      await tx.flight([bind(addNote, 2, 'too late', null)]);
    });

    await expect(done).rejects.toThrow('is over');
    expect(await notes()).toEqual(['kept']);
  });

  it('carries one flight at a time', async () => {
    const done = world.database.transaction(scope, (tx) =>
      Promise.all([tx.flight([bind(addNote, 1, 'one', null)]), tx.flight([bind(addNote, 2, 'two', null)])]),
    );

    await expect(done).rejects.toThrow('one flight at a time');
    expect(await notes()).toEqual([]);
    await expect(world.database.ping()).resolves.toBeUndefined();
  });
});

describe('two database transactions that lock each other out', () => {
  it('are both done: the server rolls one back, and it is done again', async () => {
    await world.owner.query(`insert into note (workspace_id, id, text) values (7, 1, 'a'), (7, 2, 'b')`);
    const arrived = new EventEmitter();
    const arrivals = [once(arrived, '0'), once(arrived, '1')] as const;
    let tries = 0;
    /** Locks one note, waits until the other side has locked its own, then wants that one too. */
    const side = (mine: 0 | 1) =>
      world.database.transaction(scope, async (tx) => {
        tries += 1;
        await tx.flight([bind(lockNote, mine + 1)]);
        arrived.emit(String(mine));
        await Promise.all(arrivals);
        await tx.commit([bind(lockNote, 2 - mine)]);
      });

    const outcomes = await Promise.allSettled([side(0), side(1)]);

    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'fulfilled']);
    expect(tries).toBe(3);
  });
});

describe('work that conflicts every time', () => {
  const conflict = (code: string) => statement(`tx.conflict-${code}`, `do $$ begin raise exception 'conflict' using errcode = '${code}'; end $$`); // prettier-ignore

  it.each(['40001', '40P01'])('is tried five times after %s and then refused as unavailable', async (code) => {
    let tries = 0;

    const done = world.database.transaction(scope, async (tx) => {
      tries += 1;
      await tx.commit([bind(conflict(code))]);
    });

    await expect(done).rejects.toMatchObject({ status: 503, retryAfterSeconds: 1, cause: { code } });
    expect(tries).toBe(5);
  });

  it('is tried five times also as a lone flight', async () => {
    await world.owner.query('create sequence if not exists tries; grant usage on tries to public');
    const tried = statement<{ nth: bigint }>('tx.tried', `select nextval('tries') as nth`);

    const done = world.database.flight(scope, [bind(tried), bind(conflict('40001'))]);

    await expect(done).rejects.toMatchObject({ status: 503 });
    expect((await world.database.read(scope, bind(tried)))?.nth).toBe(6n);
  });

  it('is tried once where it fails for another reason', async () => {
    let tries = 0;

    const done = world.database.transaction(scope, async (tx) => {
      tries += 1;
      await tx.commit([bind(fail)]);
    });

    await expect(done).rejects.toMatchObject({ code: '22012' });
    expect(tries).toBe(1);
  });
});
