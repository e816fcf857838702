import { Database, type DatabaseOptions } from './database.js';
import { CommitInDoubtError } from './failures.js';
import { APP_ROLE, SCHEMA } from './names.js';
import { bind, statement } from './statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';
import { Wire } from './testing/wire.js';

const addNote = statement('half-open.add', 'insert into note (workspace_id, id, text) values (7, $1, $2)');
const backend = statement<{ pid: number }>('half-open.backend', 'select pg_backend_pid() as pid');
const sleep = statement('half-open.sleep', 'select pg_sleep($1)');
const scope = { workspaces: [7] };

let world: FreshDatabase;
let wire: Wire;
let database: Database;

/** Through the wire. */
const open = (options: Partial<DatabaseOptions> = {}) =>
  Database.open({ connection: wire.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 1, statementTimeoutMs: 100, ...options }); // prettier-ignore

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

/** Makes every connection of a pool, all idle afterwards. */
async function fill(count: number): Promise<void> {
  let isFull: () => void = () => undefined;
  const full = new Promise<void>((resolve) => (isFull = resolve));
  let held = 0;
  const hold = () =>
    database.transaction({}, async (tx) => {
      await tx.flight([bind(backend)]);
      if ((held += 1) === count) isFull();
      await full;
    });
  await Promise.all(Array.from({ length: count }, hold));
}

/** How long each timer was set for that was set meanwhile. */
async function timersOf(work: () => Promise<unknown>): Promise<number[]> {
  const set = jest.spyOn(globalThis, 'setTimeout');
  await work();
  const delays = set.mock.calls.map(([, delayMs]) => delayMs ?? 0);
  set.mockRestore();
  return delays;
}

describe('a pipeline', () => {
  it('has one limit of 5 s, however many statements it has', async () => {
    database = await open({ statementTimeoutMs: undefined as never });

    for (const count of [1, 100]) {
      const delays = await timersOf(() =>
        database.flight(
          {},
          Array.from({ length: count }, () => bind(backend)),
        ),
      );

      expect(Math.max(...delays)).toBeLessThanOrEqual(5_000);
    }
  });

  it('has less time by as much as its caller has waited for a connection', async () => {
    database = await open({ statementTimeoutMs: 4_000 });
    const now = performance.now.bind(performance);

    const delays = await timersOf(async () => {
      let waiting: Promise<unknown> | undefined;
      await database.transaction({}, async (tx) => {
        await tx.flight([bind(backend)]);
        waiting = database.ping();
        jest.spyOn(performance, 'now').mockImplementation(() => now() + 700);
      });
      await waiting;
    });

    const [ofWaiting] = delays.slice(-1);
    expect(ofWaiting).toBeLessThanOrEqual(4_300);
    expect(ofWaiting).toBeGreaterThan(3_000);
  });

  it('keeps a longer limit where statements may take longer', async () => {
    database = await open({ statementTimeoutMs: 600_000 });

    expect(Math.max(...(await timersOf(() => database.ping())))).toBeGreaterThan(600_000);
  });

  it('of statements that take too long together is given up, and the server ends it', async () => {
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
  it('before the server reads a statement: a read is unavailable, a write is in doubt, and nothing has happened', async () => {
    database = await open();
    wire.silence();
    await expect(database.flight(scope, [bind(addNote, 1, 'read')])).rejects.toMatchObject({ reason: 'unavailable' });
    await database.ping();
    wire.silence();
    await expect(database.write(scope, [bind(addNote, 1, 'write')])).rejects.toBeInstanceOf(CommitInDoubtError);

    expect(await notes()).toEqual([]);
  });

  it('in the middle of the answers: is in doubt, and it has happened', async () => {
    database = await open();
    wire.toClient = (bytes) => (wire.silence(), { pass: bytes.subarray(0, 20) });

    const done = database.transaction(scope, (tx) => tx.commit([bind(addNote, 1, 'written')]));

    await expect(done).rejects.toBeInstanceOf(CommitInDoubtError);
    expect(await notes()).toEqual(['written']);
  });

  it('between two pipelines of a database transaction: is in doubt only where COMMIT was sent', async () => {
    database = await open({ poolSize: 2 });
    const lost = (
      end: (tx: { commit(): Promise<unknown>; flight(bound: never[]): Promise<unknown> }) => Promise<unknown>,
    ) =>
      // prettier-ignore
      database.transaction(scope, async (tx) => {
        await tx.flight([bind(addNote, 1, 'lost')]);
        wire.silence();
        await end(tx);
      });

    await expect(lost((tx) => tx.flight([]))).rejects.toMatchObject({ reason: 'unavailable' });
    await world.owner.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where state = $1', ['idle in transaction']); // prettier-ignore
    await expect(lost((tx) => tx.commit())).rejects.toBeInstanceOf(CommitInDoubtError);
    expect(await notes()).toEqual([]);
  });

  it('costs one caller the time, and not the next, though every idle connection is silent', async () => {
    database = await open({ poolSize: 3 });
    await fill(3);
    expect(database.stats()).toMatchObject({ total: 3, idle: 3 });
    wire.silence();

    await expect(database.ping()).rejects.toMatchObject({ reason: 'unavailable' });
    await Promise.all([database.ping(), database.ping(), database.ping()]);

    expect(database.stats()).toMatchObject({ total: 3, idle: 3 });
  });

  it('while it is set up: is unavailable', async () => {
    wire.toServer = (bytes) => (bytes.includes('set role') ? (wire.silence(), {}) : { pass: bytes });

    await expect(open({ acquireTimeoutMs: 100 })).rejects.toMatchObject({ reason: 'unavailable' });
  });
});

describe('a client that has closed its connection', () => {
  it('ends the statement of the server within a second or two, not after its limit', async () => {
    database = await open({ statementTimeoutMs: 600_000 });
    const pid = (await database.read({}, bind(backend)))?.pid;
    const sleeping = database.flight({}, [bind(sleep, 600)]);
    sleeping.catch(() => undefined);
    const alive = async () => {
      const { rows } = await world.owner.query<{ wait_event: string | null }>('select wait_event from pg_stat_activity where pid = $1', [pid]); // prettier-ignore
      return rows[0];
    };
    while ((await alive())?.wait_event !== 'PgSleep') await new Promise(setImmediate);

    wire.toServer = () => ({ isCut: true });
    await wire.remove();

    await expect(sleeping).rejects.toMatchObject({ reason: 'unavailable' });
    while (await alive()) await new Promise(setImmediate);
  });
});
