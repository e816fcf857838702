import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, escapeIdentifier as quoted } from 'pg';
import { Database } from './database.js';
import { DatabaseSetupError } from './failures.js';
import { API_ROLE, SCHEMA } from './names.js';
import { LOCK_TIMEOUT_MS, loginSettingsSql, STATEMENT_TIMEOUT_MS } from './session-setup.js';
import { freshDatabase, sql, type FreshDatabase } from './testing/index.js';
import { asLogin } from './testing/fresh-database.js';

const PASSWORD = 'only-in-this-spec';
/** The file that docs/postgresql.md tells an administrator to run. */
const FILE = readFileSync(join(__dirname, '../login-behind-pooler.sql'), 'utf8');

const settings = { schema: SCHEMA, statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: LOCK_TIMEOUT_MS };

let world: FreshDatabase;
let login: string;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());

beforeEach(async () => {
  const { rows } = await world.owner.query<{ name: string }>('select current_database() as name');
  login = `${rows[0]?.name}_login`;
  await world.owner.query(`create role ${quoted(login)} login noinherit password '${PASSWORD}'`);
  await world.owner.query(`grant ${API_ROLE} to ${quoted(login)}`);
});
afterEach(() => world.owner.query(`drop role ${quoted(login)}`));

/** The SQL of the file, as psql sends it for a login and the role that is the default. */
const fileFor = (login: string) =>
  FILE.replaceAll(/^ *\\.*\n/gm, '')
    .replaceAll(':"login"', login)
    .replaceAll(":'role'", `'${API_ROLE}'`);

const open = (isPooled: boolean) =>
  Database.open({
    connection: asLogin(world.connection, login, PASSWORD),
    ...{ isPooled, role: API_ROLE, schema: SCHEMA, poolSize: 1 },
  });

/** The settings of a session that differ from the configuration of the server, and its role. */
async function settingsOf(database: Database): Promise<unknown> {
  const [rows] = await database.pipeline({}, [
    sql(`select lower(name) as name, setting from pg_settings
          where source in ('session', 'user') and name not like 'app.%' and name <> 'application_name' order by 1`),
  ] as const);
  return [await database.read({}, sql('select current_user as role, session_user as login')), ...rows];
}

describe('the SQL file for a login behind a pooler', () => {
  it('contains the settings of a session', () => {
    const lines = fileFor(':"login"')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('--'));

    expect(lines).toEqual(loginSettingsSql(':"login"', API_ROLE, settings));
  });

  it('gives a connection that sets nothing what other connections set', async () => {
    const direct = await open(false);
    const expected = await settingsOf(direct);
    await direct.end();

    await world.owner.query(fileFor(quoted(login)));
    const pooled = await open(true);

    expect(await settingsOf(pooled)).toEqual(expected);
    await pooled.end();
  });
});

describe('a connection through a pooler', () => {
  const refusal = async () => {
    const error: unknown = await open(true).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(DatabaseSetupError);
    return (error as Error).message;
  };

  it('is refused when its login has no settings, with the SQL that gives them', async () => {
    const message = await refusal();
    expect(message).toContain(`The login "${login}" lacks settings`);

    await world.owner.query(message.split('pooler:\n')[1] ?? '');

    await (await open(true)).end();
  });

  it.each([
    'role',
    'search_path',
    'statement_timeout',
    'enable_seqscan',
    'enable_bitmapscan',
    'plan_cache_mode',
    'jit',
  ])('is refused when its login has no %s, with the one line', async (name) => {
    await world.owner.query(fileFor(quoted(login)));
    await world.owner.query(`alter role ${quoted(login)} reset ${name}`);

    const lines = (await refusal()).split('\n').slice(1);

    expect(lines).toEqual([expect.stringMatching(`^  alter role "${login}" set ${name} = .+;$`)]);
  });

  it('sets nothing, so that the next caller of the session of the server has the settings of its login', async () => {
    await world.owner.query(fileFor(quoted(login)));
    const pooled = await open(true);

    const [[row]] = await pooled.pipeline({}, [
      sql<{ count: number }>(`select count(*)::int as count from pg_settings where source = 'session'`),
    ] as const);

    expect(row).toEqual({ count: 0 });
    await pooled.end();
  });

  it('keeps the settings after DISCARD ALL, which a pooler may send between two clients', async () => {
    await world.owner.query(fileFor(quoted(login)));
    const pooled = await open(true);
    const before = await settingsOf(pooled);

    // No database transaction may be open, so it is sent without a pipeline.
    const client = new Client(asLogin(world.connection, login, PASSWORD));
    await client.connect();
    await client.query('discard all');
    const { rows } = await client.query('select current_user as role, session_user as login');
    await client.end();

    expect(rows[0]).toEqual((before as unknown[])[0]);
    await pooled.end();
  });

  it('prepares no statement by name', async () => {
    await world.owner.query(fileFor(quoted(login)));
    const pooled = await open(true);
    await pooled.ping();

    expect(await pooled.read({}, sql('select count(*)::int as count from pg_prepared_statements'))).toEqual({
      count: 0,
    });
    await pooled.end();
  });
});
