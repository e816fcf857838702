import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { escapeIdentifier as quoted, escapeLiteral } from 'pg';
import { migrate, MigrationError, pendingMigrations, type MigrationOptions } from './migrate.js';
import { emptyDatabase, type EmptyDatabase, asLogin } from './testing/fresh-database.js';

let place: EmptyDatabase;
let folder: string;

beforeEach(async () => {
  place = await emptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'banking-migrations-'));
  await writeFile(join(folder, '0001-coins.sql'), '-- Coins.\ncreate table coin (id bigint);');
});
afterEach(async () => {
  await place.close();
  await rm(folder, { recursive: true });
});

describe('a login that is no superuser', () => {
  const password = 'only-in-this-spec';
  const asMigrator = (): MigrationOptions => {
    const { connection, schema, ownerRole, roles, loginRole } = place;
    return {
      schema,
      ownerRole,
      roles,
      migrations: { folder, baseline: 1 },
      connection: asLogin(connection, loginRole, password),
    };
  };
  const makeLogin = (attributes: string) =>
    place.administer((client) =>
      client.query(`create role ${quoted(place.loginRole)} login ${attributes} password ${escapeLiteral(password)}`),
    );

  it('receives the SQL for an administrator, and migrates once it has run', async () => {
    await makeLogin('');
    const options = asMigrator();

    const refused = await migrate(options).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(refused instanceof MigrationError)) throw new Error('the login may do more than it should');
    const [, ...sql] = refused.message.split('\n');
    await place.administer((client) => client.query(sql.join('\n')));

    expect(sql).toHaveLength(8);
    expect(await migrate(options)).toEqual({ applied: ['0001-coins.sql'] });
    expect(await pendingMigrations(options)).toEqual([]);
    await place.administer((client) => client.query(`drop owned by ${quoted(place.loginRole)}`));
  });

  it('receives the missing grant where another login has migrated, and reads the migrations once it has it', async () => {
    await makeLogin('');
    const options = asMigrator();
    await migrate({ ...options, connection: place.connection });

    const refused = await pendingMigrations(options).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(refused instanceof MigrationError)) throw new Error('the login may do more than it should');
    const [, sql = ''] = refused.message.split('run: ');
    await place.administer((client) => client.query(sql));

    expect(await pendingMigrations(options)).toEqual([]);
    await place.administer((client) => client.query(`drop owned by ${quoted(place.loginRole)}`));
  });

  it('takes the right to make temporary tables from the roles when it owns the database', async () => {
    await makeLogin('createrole');
    await place.administer(async (client) => {
      const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name');
      await client.query(`alter database ${rows[0]?.name} owner to ${quoted(place.loginRole)}`);
    });

    await migrate(asMigrator());

    expect(await mayCreate()).toBe(false);
    await place.administer(async (client) => {
      await client.query(`reassign owned by ${quoted(place.loginRole)} to current_user`);
      await client.query(`drop owned by ${quoted(place.loginRole)}`);
    });
  });

  it('needs no administrator when it may make roles and schemas', async () => {
    await makeLogin('createrole');
    await place.administer(async (client) => {
      const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name');
      await client.query(`grant create on database ${rows[0]?.name} to ${quoted(place.loginRole)}`);
    });
    const options = asMigrator();

    expect(await migrate(options)).toEqual({ applied: ['0001-coins.sql'] });

    await place.administer((client) => client.query(`drop owned by ${quoted(place.loginRole)}`));
  });

  /** Whether the roles of the service can make schemas or temporary tables. */
  const mayCreate = () =>
    place.administer(async (client) => {
      const { rows } = await client.query<{ may: boolean }>(
        `select bool_or(has_database_privilege(rolname, current_database(), 'create, temporary')) as may
           from pg_roles where rolname = any($1)`,
        [place.roles],
      );
      return rows[0]?.may;
    });
});
