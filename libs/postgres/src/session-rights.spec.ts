import { escapeIdentifier as quoted } from 'pg';
import { Database } from './database.js';
import { DatabaseSetupError } from './failures.js';
import { API_ROLE, OWNER_ROLE, PROVISIONING_ROLE, SCHEMA } from './names.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';
import { asLogin } from './testing/fresh-database.js';

const PASSWORD = 'only-in-this-spec';
const SET_OPTION_SINCE = 160_000;

let world: FreshDatabase;
let version: number;
let name: string;
/** Names of roles of this spec: a login, and a role between it and another one. */
let login: string;
let group: string;

beforeAll(async () => {
  world = await freshDatabase();
  const { rows } = await world.owner.query<{ name: string; version: number }>(
    `select current_database() as name, current_setting('server_version_num')::int as version`,
  );
  ({ name, version } = rows[0]!);
  [login, group] = [`${name}_login`, `${name}_group`];
});
afterAll(() => world.close());

beforeEach(async () => {
  await world.owner.query(`create role ${login} login password '${PASSWORD}'; create role ${group} nologin`);
  await world.owner.query(`grant ${API_ROLE} to ${login}`);
});
afterEach(() => world.owner.query(`drop owned by ${login}, ${group}; drop role ${login}, ${group}`));

/** Opens the database as a live service does, and closes it again. */
async function serve(): Promise<void> {
  const database = await Database.open({
    connection: asLogin(world.connection, login, PASSWORD),
    role: API_ROLE,
    schema: SCHEMA,
    forbiddenRoles: [OWNER_ROLE, PROVISIONING_ROLE],
  });
  await database.end();
}

describe('a login that may take on the role of the service', () => {
  it('serves when it may take on no other role', async () => {
    await serve();
  });

  it.each([
    ['the owner', () => `grant ${OWNER_ROLE} to ${login}`, OWNER_ROLE],
    ['the provisioning role', () => `grant ${PROVISIONING_ROLE} to ${login}`, PROVISIONING_ROLE],
    ['the owner through another role', () => `grant ${OWNER_ROLE} to ${group}; grant ${group} to ${login}`, OWNER_ROLE],
    ['the role that writes every table', () => `grant pg_write_all_data to ${login}`, 'pg_write_all_data'],
    ['the role that runs programs', () => `grant pg_execute_server_program to ${login}`, 'pg_execute_server_program'],
  ])('is refused when it may also take on %s', async (_, sql, role) => {
    await world.owner.query(sql());

    const refused: unknown = await serve().catch((error: unknown) => error);

    expect(refused).toBeInstanceOf(DatabaseSetupError);
    expect((refused as Error).message).toContain(`The login "${login}" can act as "${role}"`);
  });

  it('is refused when it may grant itself the owner', async () => {
    if (version < SET_OPTION_SINCE) return;
    await world.owner.query(`grant ${OWNER_ROLE} to ${login} with admin true, inherit false, set false`);

    await expect(serve()).rejects.toThrow(`can act as "${OWNER_ROLE}"`);
  });

  it('is refused when it may become a superuser', async () => {
    await world.owner.query(`alter role ${group} superuser; grant ${group} to ${login}`);

    await expect(serve()).rejects.toThrow(`can act as "${group}"`);
  });

  it.each(['superuser', 'bypassrls'])('is refused with the attribute %s', async (attribute) => {
    await world.owner.query(`alter role ${login} ${attribute}`);

    await expect(serve()).rejects.toThrow(
      `The login "${login}" is a superuser, owns the database, or has BYPASSRLS or CREATEROLE`,
    );
  });

  it('is refused when it may make roles, where that lets it grant itself the owner', async () => {
    await world.owner.query(`alter role ${login} createrole`);

    // Since PostgreSQL 16 such a login grants only roles that it has with ADMIN OPTION.
    if (version >= SET_OPTION_SINCE) await serve();
    else await expect(serve()).rejects.toThrow('CREATEROLE');
  });

  it.each(['temporary', 'create'])(
    'is refused when the role of the service has %s on the database, with the SQL that revokes it',
    async (right) => {
      await world.owner.query(`grant ${right} on database ${quoted(name)} to public`);

      const message = await serve().catch((error: Error) => error.message);
      const [, sql = ''] = message?.split('administrator run: ') ?? [];
      expect(sql).toMatch(/^revoke create, temporary on database /);
      await world.owner.query(sql);

      await serve();
    },
  );
});

describe('a login with every right', () => {
  it('serves when no role is forbidden, as in a sandbox', async () => {
    const database = await Database.open({ connection: world.connection, role: API_ROLE, schema: SCHEMA });

    await expect(database.ping()).resolves.toBeUndefined();
    await database.end();
  });
});

describe('a login that may not take on the role of its connections', () => {
  it('is refused with the SQL that permits it', async () => {
    const open = () =>
      Database.open({
        connection: asLogin(world.connection, login, PASSWORD),
        role: PROVISIONING_ROLE,
        schema: SCHEMA,
      });

    const message = await open().then(
      () => undefined,
      (error: Error) => error.message,
    );
    const [, sql = ''] = message?.split('administrator run: ') ?? [];
    expect(sql).toBe(`grant "${PROVISIONING_ROLE}" to "${login}";`);
    await world.owner.query(sql);

    await (await open()).end();
  });
});
