import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@banking/embedded-postgres/testing';
import { Client } from 'pg';
import { migrate, MigrationError, pendingMigrations, planMigrations, type MigrationOptions } from './migrate.js';
import { applicationNameOf } from './release.js';
import { SQLSTATE } from './sqlstate.js';
import { emptyDatabase, type EmptyDatabase } from './testing/fresh-database.js';
import { reasonOf } from './testing/reason-of.js';

const BASE = '-- Coins.\ncreate table coin (id bigint, old text);';
const EXPAND = '-- Names.\n-- Phase: expand\nalter table coin add column name text;';
const CONTRACT = '-- No old names.\n-- Phase: contract, since 1.2.0\nalter table coin drop column old;';
const CONTRACT_OUTSIDE = `-- Outside a transaction: coins are added meanwhile.
-- Phase: contract, since 1.2.0
drop index concurrently if exists coin_by_id;`;

let place: EmptyDatabase;
let folder: string;
let options: MigrationOptions;
const connected: Client[] = [];

beforeEach(async () => {
  place = await emptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'banking-migrations-'));
  const { connection, schema, ownerRole, roles } = place;
  options = { connection, schema, ownerRole, roles, migrations: { folder, baseline: 1 }, release: '1.2.0' };
  await given('0001-coins.sql', BASE);
});
afterEach(async () => {
  await Promise.all(connected.splice(0).map((client) => client.end()));
  await place.close();
  await rm(folder, { recursive: true });
});

const given = (name: string, text: string) => writeFile(join(folder, name), text);
const without = (name: string) => rm(join(folder, name));

/** Connects as a process of a release does. */
async function connect(name: string): Promise<Client> {
  const client = new Client({ ...place.connection, application_name: name });
  await client.connect();
  connected.push(client);
  return client;
}

async function columns(): Promise<unknown[]> {
  const { rows } = await place.administer((client) =>
    client.query<{ attname: string }>(
      `select attname from pg_attribute where attrelid = 'books.coin'::regclass and attnum > 0 and not attisdropped`,
    ),
  );
  return rows.map(({ attname }) => attname);
}

describe('a migration after the baseline', () => {
  it.each([
    ['-- Names.\nselect 1;', '0002-names.sql states no phase'],
    ['-- Names.\nselect 1;\n-- Phase: expand', 'states no phase'],
    ['-- Names.\n-- Phase: both\nselect 1;', 'its phase must be one line'],
    ['-- Names.\n-- phase: expand\nselect 1;', 'its phase must be one line'],
    ['-- Names.\n-- Phase: contract\nselect 1;', 'its phase must be one line'],
    ['-- Names.\n-- Phase: contract, since 1.2\nselect 1;', 'its phase must be one line'],
    ['-- Names.\n-- Phase: expand\n-- Phase: contract, since 1.2.0\nselect 1;', 'its phase must be one line'],
  ])('is refused with %j', async (text, complaint) => {
    await given('0002-names.sql', text);

    await expect(migrate(options)).rejects.toBeInstanceOf(MigrationError);
    await expect(migrate(options)).rejects.toThrow(complaint);
  });

  it('is recorded with its phase', async () => {
    await given('0002-names.sql', EXPAND);
    await given('0003-no-old-names.sql', CONTRACT);

    await migrate(options);

    const { rows } = await place.administer((client) =>
      client.query('select number, phase, since from books.schema_migration order by number'),
    );
    expect(rows).toEqual([
      { number: 1, phase: null, since: null },
      { number: 2, phase: 'expand', since: null },
      { number: 3, phase: 'contract', since: '1.2.0' },
    ]);
  });

  it('is planned with its phase and the processes that are connected', async () => {
    expect(await planMigrations(options)).toMatchObject({ isNew: true, pending: [{ name: '0001-coins.sql' }] });
    await migrate(options);
    await given('0002-names.sql', EXPAND);
    await given('0003-no-old-names.sql', CONTRACT);
    await connect(applicationNameOf('1.1.0'));
    await connect(applicationNameOf('1.1.0'));

    expect(await planMigrations(options)).toEqual({
      isNew: false,
      pending: [
        { name: '0002-names.sql', phase: { name: 'expand' } },
        { name: '0003-no-old-names.sql', phase: { name: 'contract', since: '1.2.0' } },
      ],
      connected: [{ release: '1.1.0', connections: 2 }],
    });
  });
});

describe('a program that does not know the last migration', () => {
  beforeEach(() => given('0002-names.sql', EXPAND));
  const refusalOf = (release: string | undefined) => {
    const { release: _, ...rest } = options;
    return reasonOf(pendingMigrations({ ...rest, ...(release !== undefined && { release }) }));
  };

  it('uses the database if that migration only adds', async () => {
    await migrate(options);
    await without('0002-names.sql');

    expect(await pendingMigrations({ ...options, release: '1.1.0' })).toEqual([]);
    expect(await migrate({ ...options, release: '1.1.0' })).toEqual({ applied: [] });
  });

  it('uses the database from the release on that the migration names, and is refused before it', async () => {
    await given('0003-no-old-names.sql', CONTRACT);
    await migrate(options);
    await without('0003-no-old-names.sql');

    expect(await pendingMigrations({ ...options, release: '1.2.0' })).toEqual([]);
    expect(await pendingMigrations({ ...options, release: '1.10.0-beta.1' })).toEqual([]);
    expect(await refusalOf('1.1.9')).toBe(
      'The database is newer than this program: it has 0003-no-old-names.sql, after which release 1.2.0 or newer is needed. ' +
        'This is release 1.1.9. Run release 1.2.0 or newer.',
    );
    expect(await refusalOf('unknown')).toContain('release 1.2.0 or newer is needed');
  });

  it('is refused if the migration has no phase, or the program no release', async () => {
    await migrate(options);
    await without('0002-names.sql');

    expect(await refusalOf(undefined)).toContain('it has 0002-names.sql, which this program does not know');
    await place.administer((client) => client.query('update books.schema_migration set phase = null'));
    expect(await refusalOf('1.2.0')).toContain('it has 0002-names.sql, which this program does not know');
  });

  it('is refused if the database also lacks a migration', async () => {
    await migrate(options);
    await without('0002-names.sql');
    await place.administer((client) => client.query('delete from books.schema_migration where number = 1'));

    expect(await refusalOf('1.2.0')).toContain('which this program does not know, and lacks 0001-coins.sql');
  });

  it('is refused if a migration that it knows has changed', async () => {
    await migrate(options);
    await without('0002-names.sql');
    await given('0001-coins.sql', `${BASE}\n`);

    expect(await refusalOf('1.2.0')).toContain('0001-coins.sql has changed since it was applied');
  });
});

describe('a contract migration', () => {
  const next = '0002-no-old-names.sql';
  beforeEach(async () => {
    await migrate(options);
    await given(next, CONTRACT);
  });

  it.each([[applicationNameOf('1.1.9')], ['banking'], [applicationNameOf('unknown')]])(
    'is refused while a process "%s" is connected, and applied when it has ended',
    async (name) => {
      const process = await connect(name);

      const reason = await reasonOf(migrate(options));

      expect(reason).toMatch(/^0002-no-old-names\.sql removes what releases before 1\.2\.0 use, and such processes /);
      expect(reason).toContain('(one connection). Stop them or replace them by release 1.2.0');
      expect(await columns()).toEqual(['id', 'old']);
      await process.end();
      connected.pop();
      await ended(name);
      expect(await migrate(options)).toEqual({ applied: [next] });
      expect(await columns()).toEqual(['id']);
    },
  );

  it('is applied while processes of that release and newer, and other programs, are connected', async () => {
    for (const name of ['banking 1.2.0', 'banking 1.10.0', 'banking-read', 'psql']) await connect(name);

    expect(await migrate(options)).toEqual({ applied: [next] });
  });

  it('is applied while an older process is connected if the operator says that it has ended', async () => {
    await connect('banking 1.1.0');

    expect(await migrate({ ...options, isIgnoringOlder: true })).toEqual({ applied: [next] });
  });

  it('is refused outside a database transaction too', async () => {
    await given(next, CONTRACT_OUTSIDE);
    await connect('banking 1.1.0');

    expect(await reasonOf(migrate(options))).toContain('such processes are connected: release 1.1.0 (one connection)');
    expect(await migrate({ ...options, isIgnoringOlder: true })).toEqual({ applied: [next] });
  });

  it('keeps a process that starts meanwhile from reading which migrations are applied', async () => {
    const other = await connect('psql');
    await other.query('select pg_advisory_lock(4711)');
    await given(next, `${CONTRACT}\nselect pg_advisory_xact_lock(4711);`);
    const work = migrate({ ...options, lockTimeoutMs: 60_000 });
    await waiting(other);

    const read = other.query(`set lock_timeout = 50; select from books.schema_migration`);

    await expect(read).rejects.toMatchObject({ code: SQLSTATE.lockNotAvailable });
    await other.query('select pg_advisory_unlock(4711)');
    expect(await work).toEqual({ applied: [next] });
  });
});

/** Resolves when the migration waits for the advisory lock. */
const waiting = (client: Client) =>
  until(async () => {
    const { rowCount } = await client.query(`select from pg_locks where locktype = 'advisory' and not granted`);
    return rowCount === 1;
  });

/** Resolves when the server has noticed the end of a connection. */
const ended = (name: string) =>
  until(async () => {
    const { rows } = await place.administer((client) =>
      client.query('select from pg_stat_activity where application_name = $1 and datname = current_database()', [name]),
    );
    return rows.length === 0;
  });
