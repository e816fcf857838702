import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate, MigrationError, pendingMigrations, type MigrationOptions } from './migrate.js';
import { Wire } from './testing/wire.js';
import { emptyDatabase, type EmptyDatabase, asLogin } from './testing/fresh-database.js';

const COINS = '-- Coins.\ncreate table coin (id bigint);';
const INDEX = `-- Outside a transaction: so that coins can be added meanwhile.
drop index concurrently if exists coin_by_id;
create index concurrently coin_by_id
  on coin (id);`;

let place: EmptyDatabase;
let folder: string;
let options: MigrationOptions;
/** Another session of the same database. */
let other: Client;

beforeEach(async () => {
  place = await emptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'banking-migrations-'));
  const { connection, schema, ownerRole, roles } = place;
  options = {
    connection,
    schema,
    ownerRole,
    roles,
    migrations: { folder, baseline: 9 },
    lockTimeoutMs: 100,
  };
  other = new Client({ ...connection, application_name: 'spec-holder' });
  await other.connect();
  await given('0001-coins.sql', COINS);
  await migrate(options);
});
afterEach(async () => {
  await other.end();
  await place.close();
  await rm(folder, { recursive: true });
});

const given = (name: string, text: string) => writeFile(join(folder, name), text);

/** Undefined when there is no such index. */
async function isIndexValid(): Promise<boolean | undefined> {
  const { rows } = await other.query<{ valid: boolean }>(
    `select indisvalid as valid from pg_index where indexrelid = to_regclass('books.coin_by_id')`,
  );
  return rows[0]?.valid;
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a migration outside a database transaction', () => {
  beforeEach(() => given('0002-index.sql', INDEX));

  it('runs its statements one by one as the owner, and is recorded', async () => {
    expect(await migrate(options)).toEqual({ applied: ['0002-index.sql'] });

    expect(await isIndexValid()).toBe(true);
    expect(await pendingMigrations(options)).toEqual([]);
    const { rows } = await other.query(
      `select relowner::regrole::text as owner from pg_class where oid = 'books.coin_by_id'::regclass`,
    );
    expect(rows).toEqual([{ owner: place.ownerRole }]);
  });

  it('names the session that keeps a lock for too long, and builds the index again at the next run', async () => {
    await other.query('begin; insert into books.coin values (1)');

    const failure = await failureOf(migrate(options));

    expect(failure).toBeInstanceOf(MigrationError);
    const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
    const { message } = failure as Error;
    expect(message).toMatch(/^0002-index\.sql waited 0\.1 s for a lock and was given up\. In the way may be process /);
    expect(message).toContain(`process ${rows[0]?.pid} (login `);
    expect(message).toContain('application "spec-holder") with locks on coin');
    expect(message).toContain('run the migration again. That is safe');
    await other.query('rollback');
    // The interrupted build has left an index that nothing uses.
    expect(await isIndexValid()).toBe(false);
    expect(await pendingMigrations(options)).toEqual(['0002-index.sql']);

    expect(await migrate(options)).toEqual({ applied: ['0002-index.sql'] });
    expect(await isIndexValid()).toBe(true);
  });

  it('names the session of an old snapshot', async () => {
    await other.query('begin isolation level repeatable read; select 1');

    const { message } = (await failureOf(migrate(options))) as Error;

    expect(message).toContain('application "spec-holder") with an old snapshot');
    await other.query('rollback');
    expect(await migrate(options)).toEqual({ applied: ['0002-index.sql'] });
  });

  it('runs again from its first statement after the connection was lost before the record', async () => {
    const wire = await Wire.lay(place.connection);
    wire.toServer = (bytes) => (bytes.includes('insert into schema_migration') ? { isCut: true } : { pass: bytes });

    await expect(migrate({ ...options, connection: wire.connection })).rejects.toMatchObject({ reason: 'unavailable' });

    expect(await isIndexValid()).toBe(true);
    expect(await migrate(options)).toEqual({ applied: ['0002-index.sql'] });
    expect(await isIndexValid()).toBe(true);
    await wire.remove();
  });

  it('is applied by one of two processes while the other waits without a snapshot', async () => {
    await other.query('begin; insert into books.coin values (1)');
    let released: Promise<unknown> | undefined;
    const release = (line: string) => {
      if (line.startsWith('waiting')) released = other.query('commit');
    };
    const starter = { ...options, lockTimeoutMs: 30_000, log: release };

    const [one, two] = await Promise.all([migrate(starter), migrate(starter)]);

    await released;
    expect([...one.applied, ...two.applied]).toEqual(['0002-index.sql']);
    expect(await isIndexValid()).toBe(true);
  });
});

describe('a migration in a database transaction', () => {
  it('names the session that keeps a lock for too long, applies nothing, and succeeds at the next run', async () => {
    await given(
      '0002-owners.sql',
      '-- Owners.\ncreate table owner (id bigint);\nalter table coin add column owner bigint;',
    );
    await other.query('begin; lock table books.coin in access share mode');

    const failure = await failureOf(migrate(options));

    expect(failure).toBeInstanceOf(MigrationError);
    const { message } = failure as Error;
    expect(message).toContain('0002-owners.sql waited 0.1 s for a lock');
    expect(message).toContain('application "spec-holder") with locks on coin');
    expect(message).toContain('nothing of it was applied');
    await other.query('rollback');
    expect((await other.query(`select to_regclass('books.owner') as owner`)).rows).toEqual([{ owner: null }]);

    expect(await migrate(options)).toEqual({ applied: ['0002-owners.sql'] });
  });

  it('names the session for a login without further rights too', async () => {
    const password = 'only-in-this-spec';
    const { loginRole, ownerRole, roles } = place;
    await place.administer((client) =>
      client.query(`create role ${loginRole} login password '${password}';
        grant ${[ownerRole, ...roles].join(', ')} to ${loginRole}`),
    );
    await given('0002-owners.sql', '-- Owners.\nalter table coin add column owner bigint;');
    await other.query('begin; lock table books.coin in access share mode');

    const failure = await failureOf(
      migrate({ ...options, connection: asLogin(place.connection, loginRole, password) }),
    );

    expect((failure as Error).message).toContain('application "spec-holder") with locks on coin');
    await other.query('rollback');
    await place.administer((client) => client.query(`drop owned by ${loginRole}`));
  });
});

describe('a file marked to run outside a database transaction', () => {
  it.each([
    [
      'create index concurrently coin_by_id on coin (id);',
      'Put "drop index concurrently if exists coin_by_id;" before it',
    ],
    [
      'drop index concurrently if exists coin_by_owner;\ncreate unique index concurrently coin_by_id on coin (id);',
      'Put "drop index concurrently if exists coin_by_id;" before it',
    ],
    ['create index concurrently if not exists coin_by_id on coin (id);', 'may not be safe to run again'],
    ['drop index concurrently coin_by_id;', 'may not be safe to run again'],
    ['insert into coin values (1);', 'may not be safe to run again'],
    ['reindex index concurrently coin_by_id;', 'may not be safe to run again'],
    ['analyze coin; insert into coin values (1);', 'is not one plain statement'],
    ['analyze coin; -- and more', 'is not one plain statement'],
    ['do $$ begin end $$;', 'is not one plain statement'],
  ])('is refused with %j', async (text, complaint) => {
    await given('0002-index.sql', `-- Outside a transaction: because.\n${text}`);

    await expect(migrate(options)).rejects.toBeInstanceOf(MigrationError);
    await expect(migrate(options)).rejects.toThrow(complaint);
  });

  it.each(['alter table coin validate constraint positive', 'analyze coin', 'vacuum coin', 'vacuum (analyze) coin'])(
    'is applied with %j',
    async (text) => {
      await given(
        '0002-positive.sql',
        '-- Positive.\nalter table coin add constraint positive check (id > 0) not valid;',
      );
      await given('0003-later.sql', `-- Outside a transaction: because it takes long.\n\n${text};\n`);

      expect(await migrate(options)).toEqual({ applied: ['0002-positive.sql', '0003-later.sql'] });
    },
  );
});
