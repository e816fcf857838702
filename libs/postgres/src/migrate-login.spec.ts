import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { escapeIdentifier as quoted, escapeLiteral } from 'pg';
import { migrate, MigrationError, pendingMigrations, type MigrationOptions } from './migrate.js';
import { emptyDatabase, type EmptyDatabase } from './testing/empty-database.js';

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
  const asLogin = (): MigrationOptions => {
    const { schema, ownerRole, appRole, loginRole } = place;
    const { connectionString, ...rest } = place.connection;
    const options = { schema, ownerRole, appRole, folders: [folder] };
    if (connectionString === undefined) return { ...options, connection: { ...rest, user: loginRole, password } };
    const url = new URL(connectionString);
    Object.assign(url, { username: loginRole, password });
    return { ...options, connection: { ...rest, connectionString: url.href } };
  };
  const makeLogin = (attributes: string) =>
    place.administer((client) =>
      client.query(`create role ${quoted(place.loginRole)} login ${attributes} password ${escapeLiteral(password)}`),
    );

  it('is told what an administrator must run, and gets on once that is done', async () => {
    await makeLogin('');
    const options = asLogin();

    const refused = await migrate(options).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(refused instanceof MigrationError)) throw new Error('the login may do more than it should');
    const [, ...sql] = refused.message.split('\n');
    await place.administer((client) => client.query(sql.join('\n')));

    expect(sql).toHaveLength(5);
    expect(await migrate(options)).toEqual({ applied: ['0001-coins.sql'] });
    expect(await pendingMigrations(options)).toEqual([]);
    await place.administer((client) => client.query(`drop owned by ${quoted(place.loginRole)}`));
  });

  it('is told which grant it lacks when others have migrated, and may ask once it has it', async () => {
    await makeLogin('');
    const options = asLogin();
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

  it('does it alone when it may make roles and schemas', async () => {
    await makeLogin('createrole');
    await place.administer(async (client) => {
      const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name');
      await client.query(`grant create on database ${rows[0]?.name} to ${quoted(place.loginRole)}`);
    });
    const options = asLogin();

    expect(await migrate(options)).toEqual({ applied: ['0001-coins.sql'] });

    await place.administer((client) => client.query(`drop owned by ${quoted(place.loginRole)}`));
  });
});
