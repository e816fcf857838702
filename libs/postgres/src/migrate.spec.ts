import { SQLSTATE } from './sqlstate.js';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, escapeIdentifier as quoted } from 'pg';
import { migrate, MigrationError, pendingMigrations, type MigrationOptions } from './migrate.js';
import { Wire } from './testing/wire.js';
import { Database } from './database.js';
import { emptyDatabase, type EmptyDatabase } from './testing/fresh-database.js';

let place: EmptyDatabase;
let home: string;

beforeEach(async () => {
  place = await emptyDatabase();
  home = await mkdtemp(join(tmpdir(), 'banking-migrations-'));
});
afterEach(async () => {
  await place.close();
  await rm(home, { recursive: true });
});

/** Writes a folder of files `NNNN-title.sql`. Returns the options that apply them. */
async function given(files: Record<string, string>): Promise<MigrationOptions> {
  const folder = await mkdtemp(join(home, 'migrations-'));
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
  const { connection, schema, ownerRole, roles } = place;
  return { connection, schema, ownerRole, roles, migrations: { folder, baseline: 9 } };
}

const first = { '0001-coins.sql': '-- Coins.\ncreate table coin (id bigint);' };
const second = {
  '0002-drawers.sql': '-- Drawers.\ncreate table drawer (id bigint); insert into coin values (1);',
};

describe('migrations of a folder', () => {
  it('are applied once, in the order of their numbers, as the owner', async () => {
    const options = await given({ ...second, ...first });

    const pending = await pendingMigrations(options);
    const once = await migrate(options);
    const again = await migrate(options);

    expect(pending).toEqual(['0001-coins.sql', '0002-drawers.sql']);
    expect(once).toEqual({ applied: ['0001-coins.sql', '0002-drawers.sql'] });
    expect(again).toEqual({ applied: [] });
    expect(await pendingMigrations(options)).toEqual([]);
    const owners = await place.administer((client) =>
      client.query(`select tablename, tableowner from pg_tables where schemaname = 'books' order by tablename`),
    );
    expect(owners.rows).toEqual(
      ['coin', 'drawer', 'schema_migration'].map((tablename) => ({ tablename, tableowner: place.ownerRole })),
    );
  });

  it('end with the work that the caller adds, in the same database transaction', async () => {
    const options = await given({ ...first, ...second });
    const seen: unknown[] = [];
    const afterEach: MigrationOptions['afterEach'] = async ({ query }) => {
      seen.push(
        ...(await query(
          `select count(*) as tables, current_user::text as role from pg_tables where schemaname = 'books'`,
        )),
      );
      if (seen.length === 2) throw new Error('no step');
    };

    await expect(migrate({ ...options, afterEach })).rejects.toThrow('no step');

    expect(seen).toEqual([2n, 3n].map((tables) => ({ tables, role: place.ownerRole })));
    expect(await pendingMigrations(options)).toEqual(['0002-drawers.sql']);
  });

  it('are planned without a setting that outlasts its transaction, as a pooler would hand it to others', async () => {
    const options = await given({ ...first, ...second });
    await migrate(options);
    const queries = jest.spyOn(Client.prototype, 'query');

    await pendingMigrations(options);

    const sent = queries.mock.calls.map(([query]: readonly unknown[]) => String(query));
    queries.mockRestore();
    expect(sent.length).toBeGreaterThan(3);
    expect(sent.filter((query) => /\bset (?!local\b)/i.test(query))).toEqual([]);
  });

  it('end before the next one when the signal is aborted, and are continued by the next call', async () => {
    const options = await given({ ...first, ...second });
    const stopping = new AbortController();
    const reason = new Error('stopping');
    const afterEach = async () => stopping.abort(reason);

    const stopped = migrate({ ...options, signal: stopping.signal, afterEach });

    await expect(stopped).rejects.toBe(reason);
    expect(await migrate(options)).toEqual({ applied: ['0002-drawers.sql'] });
  });

  it('mean the same whatever is set for the database', async () => {
    await place.administer(async (client) => {
      const { rows } = await client.query<{ name: string }>('select current_database() as name');
      for (const setting of [
        'standard_conforming_strings = off',
        "timezone = 'Pacific/Apia'",
        "statement_timeout = '500ms'",
      ]) {
        await client.query(`alter database ${quoted(rows[0]?.name ?? '')} set ${setting}`);
      }
    });
    const options = await given({
      '0001-coins.sql': String.raw`-- Coins.
        create table coin (code text default '\d' check (code ~ '^\\d$'), minted timestamptz default '2026-01-01 00:00');
        insert into coin default values;
        create table setting as select current_setting('statement_timeout') as timeout;`,
    });

    await migrate(options);

    const coins = await place.administer((client) =>
      client.query(`select code, minted = '2026-01-01 00:00Z' as is_utc, timeout from books.coin, books.setting`),
    );
    expect(coins.rows).toEqual([{ code: '\\d', is_utc: true, timeout: '0' }]);
  });

  it('are recorded with their hash and the login', async () => {
    await migrate(await given(first));

    const { rows } = await place.administer((client) => client.query('select * from books.schema_migration'));

    expect(rows).toEqual([
      {
        number: 1,
        name: '0001-coins.sql',
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        applied_at: expect.any(String) as string,
        applied_by: expect.any(String) as string,
        phase: null,
        since: null,
      },
    ]);
  });

  it('are applied by one of two processes, while the other waits', async () => {
    const options = await given({ ...first, ...second });

    const [one, other] = await Promise.all([migrate(options), migrate(options)]);

    expect([...one.applied, ...other.applied]).toEqual(['0001-coins.sql', '0002-drawers.sql']);
  });

  it('may run at once in two databases of one server, which share their roles', async () => {
    const neighbour = await emptyDatabase();
    const options = await given(first);
    const elsewhere = { ...options, connection: neighbour.connection };

    const both = await Promise.all([migrate(options), migrate(elsewhere)]);

    expect(both.map(({ applied }) => applied)).toEqual([['0001-coins.sql'], ['0001-coins.sql']]);
    await neighbour.close();
  });

  it('stop at the one that fails, of which nothing is applied', async () => {
    const options = await given({
      ...first,
      '0002-broken.sql': '-- Breaks.\ncreate table half (id bigint); select 1 / 0;',
      '0003-never.sql': '-- Never.\ncreate table never (id bigint);',
    });

    await expect(migrate(options)).rejects.toMatchObject({
      code: SQLSTATE.divisionByZero,
      migration: '0002-broken.sql',
    });

    expect(await pendingMigrations(options)).toEqual(['0002-broken.sql', '0003-never.sql']);
    const tables = await place.administer((client) =>
      client.query(`select tablename from pg_tables where schemaname = 'books' and tablename in ('half', 'never')`),
    );
    expect(tables.rows).toEqual([]);
  });

  it('give the roles the schema and no right that they do not grant', async () => {
    await migrate(await given(first));

    const { rows } = await place.administer((client) =>
      client.query(
        `select has_schema_privilege($1, 'books', 'usage') as usage, has_schema_privilege($1, 'books', 'create') as make,
                has_table_privilege($1, 'books.coin', 'select') as coin`,
        [place.roles[0]!],
      ),
    );

    expect(rows).toEqual([{ usage: true, make: false, coin: false }]);
  });
});

describe('invalid migration files', () => {
  const next = { '0003-later.sql': '-- Later.\nselect 1;' };

  it('are refused with a gap', async () => {
    const options = await given({ ...first, ...next });

    await expect(migrate(options)).rejects.toThrow('Migration 0002 is missing: the next file is 0003-later.sql.');
  });

  it('are refused with a number twice', async () => {
    const options = await given({ ...first, '0001-also.sql': '-- Also.\nselect 1;' });

    await expect(migrate(options)).rejects.toThrow('Two migrations have the same number: 0001-');
  });

  it.each([
    ['0001-No.sql', '-- Fine.\nselect 1;', 'is not named like'],
    ['1-no.sql', '-- Fine.\nselect 1;', 'is not named like'],
    ['0001-no.sql', 'select 1;', 'sentence of intent'],
    ['0001-no.sql', '--\nselect 1;', 'sentence of intent'],
    ['0001-no.sql', '-- Ends itself.\ncommit;', 'must not end its database transaction'],
  ])('are refused, such as %s with %j', async (name, text, complaint) => {
    const options = await given({ [name]: text });

    await expect(migrate(options)).rejects.toThrow(complaint);
    await expect(migrate(options)).rejects.toBeInstanceOf(MigrationError);
  });

  it('are refused when they changed after they were applied', async () => {
    await migrate(await given(first));

    const changed = await given({ '0001-coins.sql': '-- Coins.\ncreate table coin (id int);' });

    await expect(migrate(changed)).rejects.toThrow('0001-coins.sql has changed since it was applied');
    await expect(pendingMigrations(changed)).rejects.toThrow('has changed since');
  });

  it('are accepted with other line ends', async () => {
    await migrate(await given(first));

    const windows = await given({ '0001-coins.sql': '-- Coins.\r\ncreate table coin (id bigint);' });

    expect(await migrate(windows)).toEqual({ applied: [] });
  });

  it('are refused by a database with later migrations', async () => {
    await migrate(await given({ ...first, ...second }));

    await expect(migrate(await given(first))).rejects.toThrow(
      'The database is newer than this program: it has 0002-drawers.sql',
    );
  });
});

describe('a server where a constraint would have no effect', () => {
  it('is refused when the role of the service bypasses row-level security', async () => {
    await place.administer((client) => client.query(`create role ${quoted(place.roles[0]!)} bypassrls`));

    await expect(migrate(await given(first))).rejects.toThrow(/Run: alter role .* nosuperuser nobypassrls;/);
  });

  it('is refused when triggers are off', async () => {
    await place.administer(async (client) => {
      const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name');
      await client.query(`alter database ${rows[0]?.name} set session_replication_role = replica`);
    });

    await expect(migrate(await given(first))).rejects.toThrow('set session_replication_role = origin');
  });

  it('is refused when the schema belongs to another role', async () => {
    await place.administer((client) => client.query('create schema books'));

    await expect(migrate(await given(first))).rejects.toThrow('Run: alter schema "books" owner to');
  });
});

describe.each(['LATIN1', 'SQL_ASCII'])('a database with the encoding %s', (encoding) => {
  const message = `The database has the encoding ${encoding}: create one with ENCODING 'UTF8', and connect to that.`;
  let other: EmptyDatabase;

  beforeEach(async () => {
    other = await emptyDatabase(
      `encoding '${encoding}' template template0 locale_provider libc lc_collate 'C' lc_ctype 'C'`,
    );
  });
  afterEach(() => other.close());

  it('is refused before the first migration', async () => {
    const options = { ...(await given(first)), ...other };

    await expect(pendingMigrations(options)).rejects.toThrow(message);
    await expect(migrate(options)).rejects.toThrow(message);

    const { rows } = await other.administer((client) =>
      client.query(`select from pg_namespace where nspname = $1`, [other.schema]),
    );
    expect(rows).toEqual([]);
  });

  it('is refused when it is opened', async () => {
    await expect(Database.open({ connection: other.connection })).rejects.toThrow(message);
  });
});

describe('a server that cannot be reached', () => {
  it('is unavailable from the start', async () => {
    const options = await given(first);
    const connection = { host: '127.0.0.1', port: 1, user: 'none', database: 'none' };

    await expect(migrate({ ...options, connection })).rejects.toMatchObject({ reason: 'unavailable' });
  });

  it('is unavailable when the connection is lost during a migration, of which nothing is applied', async () => {
    const wire = await Wire.lay(place.connection);
    wire.toServer = (bytes) => (bytes.includes('create table coin') ? { isCut: true } : { pass: bytes });
    const options = await given(first);

    await expect(migrate({ ...options, connection: wire.connection })).rejects.toMatchObject({ reason: 'unavailable' });

    expect(await pendingMigrations(options)).toEqual(['0001-coins.sql']);
    await wire.remove();
  });
});
