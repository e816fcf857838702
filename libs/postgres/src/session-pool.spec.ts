import { SQLSTATE } from './sqlstate.js';
import { Database } from './database.js';
import { DatabaseSetupError } from './failures.js';
import { API_ROLE, SCHEMA } from './names.js';
import { bind, sqlStatement } from './sql-statement.js';
import { freshDatabase, type FreshDatabase, until } from './testing/index.js';
import { inDatabase } from './testing/fresh-database.js';
import { Wire } from './testing/wire.js';

const backend = sqlStatement<{ pid: number }>('pool.backend', 'select pg_backend_pid() as pid');
const sleep = sqlStatement('pool.sleep', 'select pg_sleep(60)');

let world: FreshDatabase;
const brokenIdle: Error[] = [];

beforeAll(async () => {
  world = await freshDatabase({
    poolSize: 1,
    acquireTimeoutMs: 2_000,
    statementTimeoutMs: 300,
    onError: (error) => brokenIdle.push(error),
  });
});
afterAll(() => world.close());

async function pidOf(database: Database): Promise<number> {
  const row = await database.read({}, bind(backend));
  if (row === undefined) throw new Error('the server has no pid');
  return row.pid;
}

describe('a pool without an idle connection', () => {
  it('is unavailable after the time limit, and serves again once a connection is released', async () => {
    await world.database.transaction({}, async (tx) => {
      await tx.pipeline([bind(backend)]);

      await expect(world.database.ping()).rejects.toMatchObject({
        reason: 'unavailable',
        status: 503,
        retryAfterSeconds: 1,
      });
    });

    await expect(world.database.ping()).resolves.toBeUndefined();
    expect(world.database.stats()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });
});

describe('a connection', () => {
  it('is reported and replaced when the server ends it while it is idle', async () => {
    const before = await pidOf(world.database);
    const reported = brokenIdle.length;

    await world.owner.query('select pg_terminate_backend($1, 5000)', [before]);
    await until(() => brokenIdle.length > reported);

    expect(await pidOf(world.database)).not.toBe(before);
  });

  it('is unavailable when the server ends it during a pipeline, and the next caller has another one', async () => {
    const slow = await Database.open({ connection: world.connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
    const sleeping = slow.pipeline({}, [bind(sleep)]);
    sleeping.catch(() => undefined);

    await until(async () => {
      const { rowCount } = await world.owner.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where wait_event = 'PgSleep'
            and datname = current_database()`,
      );
      return rowCount !== 0;
    });

    await expect(sleeping).rejects.toMatchObject({ reason: 'unavailable', cause: { name: 'ConnectionLost' } });
    await expect(slow.ping()).resolves.toBeUndefined();
    await slow.end();
  });

  it('is unavailable when its statement takes too long, and is used again', async () => {
    const before = await pidOf(world.database);

    await expect(world.database.pipeline({}, [bind(sleep)])).rejects.toMatchObject({
      reason: 'unavailable',
      cause: { code: SQLSTATE.queryCanceled },
    });

    expect(await pidOf(world.database)).toBe(before);
  });

  it('is closed when it goes silent, and the next caller has another one', async () => {
    const wire = await Wire.lay(world.connection);
    const database = await Database.open({
      connection: wire.connection,
      role: API_ROLE,
      schema: SCHEMA,
      // The set-up of a session has this time too, also on a busy machine.
      statementTimeoutMs: 1_000,
    });

    wire.toClient = () => ({});
    await expect(database.ping()).rejects.toMatchObject({ reason: 'unavailable' });
    wire.toClient = (bytes) => ({ pass: bytes });

    await expect(database.ping()).resolves.toBeUndefined();
    await database.end();
    await wire.remove();
  });

  it('is set up before a caller has it', async () => {
    const show = sqlStatement<Record<string, string>>(
      'pool.settings',
      `select current_user as role, current_schema() as schema, current_setting('statement_timeout') as statement,
              current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle,
              current_setting('enable_seqscan') as seqscan, current_setting('timezone') as timezone,
              current_setting('application_name') as application`,
    );

    expect(await world.database.read({}, bind(show))).toEqual({
      role: 'banking_operator',
      schema: 'banking',
      statement: '300ms',
      lock: '2s',
      idle: '10s',
      seqscan: 'off',
      timezone: 'UTC',
      application: 'banking',
    });
  });

  it('limits how long the server waits for an unreachable client', async () => {
    const set = sqlStatement<{ name: string; source: string }>(
      'pool.tcp-settings',
      `select name, source from pg_settings where name ~ '^tcp_|^client_connection' order by name`,
    );
    const [rows] = await world.database.pipeline({}, [bind(set)] as const);
    expect(rows).toEqual(
      [
        'client_connection_check_interval',
        'tcp_keepalives_count',
        'tcp_keepalives_idle',
        'tcp_keepalives_interval',
        'tcp_user_timeout',
      ].map((name) => ({ name, source: 'session' })),
    );

    // On a Unix socket they have no effect, and the server shows 0.
    const shown = sqlStatement<{ tcp: boolean; user: string; idle: string }>(
      'pool.tcp-values',
      `select inet_server_addr() is not null as tcp, current_setting('tcp_user_timeout') as user,
              current_setting('tcp_keepalives_idle') as idle`,
    );
    const { tcp, ...values } = (await world.database.read({}, bind(shown))) ?? { tcp: false };
    expect(values).toEqual(tcp ? { user: '5000', idle: '10' } : { user: '0', idle: '0' });
  });

  it('is replaced after about an hour', async () => {
    const before = await pidOf(world.database);
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now');

    clock.mockReturnValue(now + 45 * 60_000);
    const soon = [await pidOf(world.database), await pidOf(world.database)];
    clock.mockReturnValue(now + 75 * 60_000);
    const later = [await pidOf(world.database), await pidOf(world.database), await pidOf(world.database)];
    clock.mockRestore();

    expect(soon).toEqual([before, before]);
    expect(later[0]).toBe(before);
    expect(later[1]).not.toBe(before);
    expect(later[2]).toBe(later[1]);
  });
});

describe('a database that cannot be opened', () => {
  const open = (options: object) => Database.open({ connection: world.connection, ...options });

  it('is unavailable when no server listens', async () => {
    const wire = await Wire.lay(world.connection);
    await wire.remove();

    await expect(open({ connection: wire.connection })).rejects.toMatchObject({ reason: 'unavailable' });
  });

  it('is unavailable when the server accepts and sends nothing', async () => {
    const wire = await Wire.lay(world.connection);
    wire.toServer = () => ({});

    const opened = open({ connection: wire.connection, acquireTimeoutMs: 100 });

    await expect(opened).rejects.toMatchObject({ reason: 'unavailable' });
    await wire.remove();
  });

  it('is a setup error when the role is missing', async () => {
    await expect(open({ role: 'no_such_role' })).rejects.toThrow('There is no role "no_such_role"');
  });

  it('is a setup error when there is no such database', async () => {
    const connection = inDatabase(world.connection, 'no_such_database');

    await expect(open({ connection, role: API_ROLE })).rejects.toBeInstanceOf(DatabaseSetupError);
  });

  it('is a setup error when the role is a superuser', async () => {
    await expect(open({})).rejects.toBeInstanceOf(DatabaseSetupError);
    await expect(open({})).rejects.toThrow('is a superuser');
  });

  it('is a setup error when the role owns the tables', async () => {
    await expect(open({ role: 'banking_owner', schema: SCHEMA })).rejects.toThrow('the rights of the owner of table');
  });

  it.each([
    ['commits are not durable', 'synchronous_commit', 'off', 'on'],
    ['triggers have no effect', 'session_replication_role', 'replica', 'origin'],
  ])('is a setup error when %s', async (_why, name, wrong, right) => {
    const { rows } = await world.owner.query<{ name: string }>('select quote_ident(current_database()) as name');
    const alter = (value: string) => world.owner.query(`alter database ${rows[0]?.name} set ${name} = ${value}`);

    await alter(wrong);

    await expect(open({ role: API_ROLE })).rejects.toThrow(`set ${name} = ${right}`);
    await alter(right);
    await (await open({ role: API_ROLE })).end();
  });

  it('sets what SQL means, whatever is set for the database', async () => {
    const { rows } = await world.owner.query<{ name: string }>('select quote_ident(current_database()) as name');
    for (const setting of ['row_security = off', 'array_nulls = off', "timezone = 'Pacific/Apia'"]) {
      await world.owner.query(`alter database ${rows[0]?.name} set ${setting}`);
    }
    const database = await open({ role: API_ROLE });

    const show = sqlStatement(
      'pool.language',
      `select current_setting('row_security') as security, '{null}'::text[] as nulls, current_setting('timezone') as timezone`,
    );
    expect(await database.read({}, bind(show))).toEqual({ security: 'on', nulls: [null], timezone: 'UTC' });
    await database.end();
  });
});

describe('a database that ends', () => {
  /** The time limit of a caller that waits is longer than that of a test. */
  const open = (poolSize: number) =>
    Database.open({
      connection: world.connection,
      ...{ role: API_ROLE, schema: SCHEMA, poolSize, acquireTimeoutMs: 3_600_000 },
    });
  const stopping = { reason: 'unavailable', message: 'The service is stopping.' };

  it('refuses callers at once that wait for a connection, which its user keeps', async () => {
    const database = await open(1);
    let ended: Promise<void> | undefined;

    await database.transaction({}, async (tx) => {
      await tx.pipeline([bind(backend)]);
      const waiting = database.ping();
      expect(database.stats().waiting).toBe(1);
      ended = database.end();

      await expect(waiting).rejects.toMatchObject(stopping);
      await expect(tx.commit([bind(backend)])).resolves.toHaveLength(1);
    });

    await ended;
  });

  it('refuses a caller at once that was about to get an idle connection', async () => {
    const database = await open(1);
    const waiting = database.ping();
    const ended = database.end();

    await expect(waiting).rejects.toMatchObject(stopping);
    await ended;
  });

  it('closes a connection that was being made for a caller', async () => {
    const database = await open(2);
    let ended: Promise<void> | undefined;

    await database.transaction({}, async (tx) => {
      await tx.pipeline([bind(backend)]);
      const waiting = database.ping();
      expect(database.stats()).toMatchObject({ total: 2, waiting: 0 });
      ended = database.end();

      await expect(waiting).rejects.toMatchObject(stopping);
    });

    await ended;
    expect(database.stats()).toEqual({ total: 0, idle: 0, waiting: 0 });
  });
});

describe('a database that has ended', () => {
  it('refuses as unavailable and may be ended again', async () => {
    const database = await Database.open({ connection: world.connection, role: API_ROLE });

    await database.end();

    await expect(database.ping()).rejects.toMatchObject({ reason: 'unavailable' });
    await expect(database.end()).resolves.toBeUndefined();
  });
});
