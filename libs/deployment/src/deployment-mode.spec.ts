import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, OWNER_ROLE, ROLES, RULE_VIOLATION, SCHEMA, SQLSTATE } from '@banking/postgres';
import { administer, reasonOf } from '@banking/postgres/testing';
import { MIGRATIONS } from '@banking/schema';
import { DeploymentError } from './explain-failure.js';
import { migrateDeployment, missingMigrations } from './migrate-deployment.js';
import { openDeployment, type DeploymentSettings } from './open-deployment.js';
import { ownServer, type OwnServer } from './testing/own-server.js';

let server: OwnServer;
type OwnDatabase = Awaited<ReturnType<OwnServer['makeDatabase']>>;
/** Migrated databases of each mode, without connections. */
let [sandbox, production]: OwnDatabase[] = [];
let database: OwnDatabase;
let settings: DeploymentSettings;

const settingsOf = (one: OwnDatabase, isSandbox = true): DeploymentSettings => ({
  ...{ databaseUrl: one.urlOf(), dataDir: '/nowhere', isSandbox },
});

beforeAll(async () => {
  server = await ownServer();
  [sandbox, production] = [await server.makeDatabase(), await server.makeDatabase()];
  await (await openDeployment(settingsOf(sandbox))).close();
  await (await openDeployment(settingsOf(production, false))).close();
});
afterAll(async () => {
  await sandbox?.drop();
  await production?.drop();
  await server.close();
});
afterEach(() => database.drop());

/** Begins a test with a copy of a migrated database, or with a new one. */
async function begin(template?: OwnDatabase): Promise<void> {
  database = await server.makeDatabase(template);
  settings = settingsOf(database);
}

const live = (): DeploymentSettings => ({ ...settings, isSandbox: false });

const query = <Row extends object>(text: string): Promise<Row[]> =>
  administer({ connectionString: settings.databaseUrl! }, async (client) => {
    await client.query(`set search_path = ${SCHEMA}`);
    return (await client.query<Row>(text)).rows;
  });

const storedModes = () => query<{ is_sandbox: boolean }>('select is_sandbox from deployment_mode');

describe('the mode of an existing database', () => {
  it('is accepted from each process with the same mode', async () => {
    await begin(production);

    for (const prepare of [true, false]) await (await openDeployment({ ...live(), prepare })).close();
    expect(await storedModes()).toEqual([{ is_sandbox: false }]);
  });

  it.each([
    [
      true,
      'The database is a sandbox, but SANDBOX=off. Set SANDBOX=on, or name another database by DATABASE_URL or DATA_DIR.',
    ],
    [
      false,
      'The database is live, but SANDBOX=on. Set SANDBOX=off, or name another database by DATABASE_URL or DATA_DIR.',
    ],
  ])('refuses a process of the other mode (sandbox: %p)', async (isSandbox, message) => {
    await begin(isSandbox ? sandbox : production);

    for (const prepare of [true, false]) {
      const work = openDeployment({ ...settings, isSandbox: !isSandbox, prepare });
      await expect(work).rejects.toThrow(new DeploymentError(message));
    }
    const connection = { connectionString: settings.databaseUrl! };
    expect(await reasonOf(missingMigrations({ connection, isSandbox: !isSandbox }))).toBe(message);
    expect(await reasonOf(migrateDeployment({ connection, isSandbox: !isSandbox }))).toBe(message);
    expect(await storedModes()).toEqual([{ is_sandbox: isSandbox }]);
  });

  it('is compared before a migration', async () => {
    await begin(sandbox);
    await query(`delete from schema_migration where number = 1`);

    expect(await reasonOf(openDeployment(live()))).toMatch(/^The database is a sandbox, but SANDBOX=off\./);
  });

  it('is compared while another process makes the rest of the tables', async () => {
    await begin();
    const folder = await mkdtemp(join(tmpdir(), 'banking-first-'));
    const first = '0001-deployment.sql';
    await cp(join(MIGRATIONS.folder, first), join(folder, first));
    const connection = { connectionString: settings.databaseUrl! };
    const roles = { ownerRole: OWNER_ROLE, roles: ROLES };
    const parameters = { 'banking.sandbox': 'on' };
    await migrate({ connection, migrations: { folder, baseline: 1 }, schema: SCHEMA, parameters, ...roles });
    await rm(folder, { recursive: true });

    expect(await missingMigrations({ connection, isSandbox: true })).not.toContain(first);
    expect(await reasonOf(missingMigrations({ connection, isSandbox: false }))).toMatch(/^The database is a sandbox/);
  });

  it('is that of the served database, not of the owner’s URL', async () => {
    await begin(sandbox);
    const other = await server.makeDatabase(production);

    expect(await reasonOf(openDeployment({ ...live(), ownerUrl: other.urlOf() }))).toMatch(
      /^The database is a sandbox/,
    );
    await other.drop();
  });

  it.each([
    'insert into deployment_mode (is_sandbox) values (false)',
    'insert into deployment_mode (id, is_sandbox) values (false, false)',
    'update deployment_mode set is_sandbox = false',
    'delete from deployment_mode',
    'truncate deployment_mode',
  ])('does not change by %s of an administrator', async (text) => {
    await begin(sandbox);

    await expect(query(text)).rejects.toMatchObject({
      code: expect.stringMatching(
        `^(${RULE_VIOLATION.recordChanged}|${SQLSTATE.uniqueViolation}|${SQLSTATE.checkViolation})$`,
      ) as string,
    });
  });
});

describe('the mode of a new database', () => {
  it('is that of one of two concurrent processes', async () => {
    await begin();
    // A process that waits too long for a lock or a connection while another migrates is started again, as by a supervisor.
    const start = async (one: DeploymentSettings, triesLeft = 5): Promise<void> => {
      const opened = await openDeployment(one).catch((error: Error) => {
        if (triesLeft === 0 || /SANDBOX=(on|off)/.test(error.message)) throw error;
      });
      return opened ? opened.close() : start(one, triesLeft - 1);
    };

    const results = await Promise.allSettled([settings, live(), settings, live()].map((one) => start(one)));

    const [stored] = await storedModes();
    const refusals = results.map((result) => (result.status === 'rejected' ? (result.reason as Error) : undefined));
    expect(refusals.map((refusal) => refusal?.message)).toEqual(
      [true, false, true, false].map((isSandbox) =>
        isSandbox === stored!.is_sandbox ? undefined : expect.stringMatching(/^The database is .* SANDBOX=/),
      ),
    );
    for (const refusal of refusals) if (refusal) expect(refusal).toBeInstanceOf(DeploymentError);
  });
});
