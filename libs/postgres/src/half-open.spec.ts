import { Database, type DatabaseOptions } from './database.js';
import { CommitInDoubtError } from './failures.js';
import { API_ROLE, SCHEMA } from './names.js';
import { bind, sqlStatement } from './sql-statement.js';
import { freshDatabase, type FreshDatabase, until } from './testing/index.js';
import { Wire } from './testing/wire.js';

const addNote = sqlStatement('half-open.add', 'insert into note (workspace_id, id, text) values (7, $1, $2)');
const backend = sqlStatement<{ pid: number }>('half-open.backend', 'select pg_backend_pid() as pid');
const sleep = sqlStatement('half-open.sleep', 'select pg_sleep($1)');
const scope = { workspaces: [7] };

let world: FreshDatabase;
let wire: Wire;
let database: Database;

/** For calls after a silence: a connection is opened within it, also on a busy machine. */
const WITH_TIME = { statementTimeoutMs: 4_000 };

/** The connection through the proxy. */
const open = (options: Partial<DatabaseOptions> = {}) =>
  Database.open({
    connection: wire.connection,
    role: API_ROLE,
    schema: SCHEMA,
    poolSize: 1,
    statementTimeoutMs: 100,
    acquireTimeoutMs: 5_000,
    ...options,
  });

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());
beforeEach(async () => {
  wire = await Wire.lay(world.connection);
  await world.owner.query('truncate note');
});
afterEach(async () => {
  jest.restoreAllMocks();
  await database?.end();
  await wire.remove();
});

async function notes(): Promise<string[]> {
  const { rows } = await world.owner.query<{ text: string }>('select text from note order by id');
  return rows.map((row) => row.text);
}

/** Opens all connections of a pool and leaves them idle. */
async function fill(count: number): Promise<void> {
  let isFull: () => void = () => undefined;
  const full = new Promise<void>((resolve) => (isFull = resolve));
  let users = 0;
  const occupy = () =>
    database.transaction({}, async (tx) => {
      await tx.pipeline([bind(backend)]);
      if ((users += 1) === count) isFull();
      await full;
    });
  await Promise.all(Array.from({ length: count }, occupy));
}

/** The delays of the timers that are set during the work. */
async function timersOf(work: () => Promise<unknown>): Promise<number[]> {
  const set = jest.spyOn(globalThis, 'setTimeout');
  await work();
  const delays = set.mock.calls.map(([, delayMs]) => delayMs ?? 0);
  set.mockRestore();
  return delays;
}

describe('a pipeline', () => {
  it('has a limit of 5 s for any number of statements', async () => {
    database = await open({ statementTimeoutMs: undefined as never });

    for (const count of [1, 100]) {
      const delays = await timersOf(() =>
        database.pipeline(
          {},
          Array.from({ length: count }, () => bind(backend)),
        ),
      );

      expect(Math.max(...delays)).toBeLessThanOrEqual(5_000);
    }
  });

  it('has a limit reduced by the wait for a connection', async () => {
    database = await open({ statementTimeoutMs: 4_000 });
    const now = performance.now.bind(performance);

    const delays = await timersOf(async () => {
      let waiting: Promise<unknown> | undefined;
      await database.transaction({}, async (tx) => {
        await tx.pipeline([bind(backend)]);
        waiting = database.ping();
        jest.spyOn(performance, 'now').mockImplementation(() => now() + 700);
      });
      await waiting;
    });

    const [ofWaiting] = delays.slice(-1);
    expect(ofWaiting).toBeLessThanOrEqual(4_300);
    expect(ofWaiting).toBeGreaterThan(3_000);
  });

  it('has a longer limit where statements may take longer', async () => {
    database = await open({ statementTimeoutMs: 600_000 });

    expect(Math.max(...(await timersOf(() => database.ping())))).toBeGreaterThan(600_000);
  });

  it('ends in doubt where its statements together exceed the limit, and the server rolls it back', async () => {
    database = await open({ statementTimeoutMs: 300 });
    const slow = Array.from({ length: 40 }, () => bind(sleep, 0.2));

    const done = database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'too late'), ...slow]));

    await expect(done).rejects.toBeInstanceOf(CommitInDoubtError);
    // Waits for it to end.
    await world.owner.query('begin; lock table note in access exclusive mode; commit');
    expect(await notes()).toEqual([]);
  });
});

describe('a connection that goes silent', () => {
  it('makes a read unavailable and a write doubtful where the server has not read it, and nothing happens', async () => {
    database = await open(WITH_TIME);
    wire.silence();
    await expect(database.pipeline(scope, [bind(addNote, 1, 'read')])).rejects.toMatchObject({ reason: 'unavailable' });
    await database.ping();
    wire.silence();
    await expect(database.write(scope, [bind(addNote, 1, 'write')])).rejects.toBeInstanceOf(CommitInDoubtError);

    expect(await notes()).toEqual([]);
  });

  it('leaves a committed transaction in doubt where a part of the response is lost', async () => {
    database = await open();
    wire.toClient = (bytes) => (wire.silence(), { pass: bytes.subarray(0, 20) });

    const done = database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'written')]));

    await expect(done).rejects.toBeInstanceOf(CommitInDoubtError);
    expect(await notes()).toEqual(['written']);
  });

  it('leaves doubt between two pipelines only where COMMIT was sent', async () => {
    database = await open({ poolSize: 2 });
    const lost = (
      end: (tx: { commit(): Promise<unknown>; pipeline(bound: never[]): Promise<unknown> }) => Promise<unknown>,
    ) =>
      database.transaction(scope, async (tx) => {
        await tx.pipeline([bind(addNote, 1, 'lost')]);
        wire.silence();
        await end(tx);
      });

    await expect(lost((tx) => tx.pipeline([]))).rejects.toMatchObject({ reason: 'unavailable' });
    await world.owner.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where datname = current_database() and state = 'idle in transaction'`,
    );
    await expect(lost((tx) => tx.commit())).rejects.toBeInstanceOf(CommitInDoubtError);
    expect(await notes()).toEqual([]);
  });

  it('delays one caller and not the next, although every idle connection is silent', async () => {
    database = await open({ ...WITH_TIME, poolSize: 3 });
    await fill(3);
    expect(database.stats()).toMatchObject({ total: 3, idle: 3 });
    wire.silence();

    await expect(database.ping()).rejects.toMatchObject({ reason: 'unavailable' });
    await Promise.all([database.ping(), database.ping(), database.ping()]);

    expect(database.stats()).toMatchObject({ total: 3, idle: 3 });
  });

  it('is unavailable during its setup', async () => {
    wire.toServer = (bytes) => (bytes.includes('set role') ? (wire.silence(), {}) : { pass: bytes });

    await expect(open({ acquireTimeoutMs: 100 })).rejects.toMatchObject({ reason: 'unavailable' });
  });
});

describe('a client that has closed its connection', () => {
  it('has its statement ended by the server within seconds, before the limit', async () => {
    database = await open({ statementTimeoutMs: 600_000 });
    const pid = (await database.read({}, bind(backend)))?.pid;
    const sleeping = database.pipeline({}, [bind(sleep, 600)]);
    sleeping.catch(() => undefined);
    const alive = async () => {
      const { rows } = await world.owner.query<{ wait_event: string | null }>(
        'select wait_event from pg_stat_activity where pid = $1',
        [pid],
      );
      return rows[0];
    };
    await until(alive, (session) => session?.wait_event === 'PgSleep');

    wire.toServer = () => ({ isCut: true });
    await wire.remove();

    await expect(sleeping).rejects.toMatchObject({ reason: 'unavailable' });
    await until(alive, (session) => session === undefined);
  });
});
