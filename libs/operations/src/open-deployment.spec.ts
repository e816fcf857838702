import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyBooks } from '@banking/ledger';
import { administer } from '@banking/postgres/testing';
import { readDemoWorld } from './demo-world/world.js';
import { DeploymentError } from './deployment-error.js';
import { openDeployment, type DeploymentSettings } from './open-deployment.js';
import { ownServer, type OwnServer } from './testing/own-server.js';
import { sql, wordOf } from './testing/worlds.js';

describe('Given a server of one’s own with a database nobody has migrated', () => {
  let server: OwnServer;
  let database: Awaited<ReturnType<OwnServer['makeDatabase']>>;

  beforeAll(async () => {
    server = await ownServer();
  });
  afterAll(() => server.close());

  beforeEach(async () => {
    database = await server.makeDatabase();
  });
  afterEach(() => database.drop());

  const settings = (urls: { databaseUrl?: string; ownerUrl?: string }): DeploymentSettings => ({
    databaseUrl: database.urlOf(),
    dataDir: '/nowhere',
    demo: false,
    isSandbox: true,
    ...urls,
  });
  const asOwner = () => database.urlOf('owner');
  const asApp = () => database.urlOf('app');

  it('When one login migrates and another serves, Then the books work for the one that serves', async () => {
    const deployment = await openDeployment({ ...settings({ databaseUrl: asApp(), ownerUrl: asOwner() }), demo: true });

    const demo = await readDemoWorld(deployment.database);
    expect((await verifyBooks(deployment.database, Object.values(demo!.workspaces))).findings).toEqual([]);
    const who = await deployment.database.read({}, sql('select session_user as login, current_user as role'));
    expect(who).toEqual({ login: server.logins.app, role: 'banking_app' });
    await deployment.close();
  });

  it('When it is up to date, Then the login that serves needs no other', async () => {
    await (await openDeployment(settings({ databaseUrl: asOwner() }))).close();

    const deployment = await openDeployment(settings({ databaseUrl: asApp() }));

    expect(await readDemoWorld(deployment.database)).toBeUndefined();
    await deployment.close();
  });

  it('When the login that serves would have to migrate, Then the sentence says who may', async () => {
    const work = openDeployment(settings({ databaseUrl: asApp() }));

    await expect(work).rejects.toBeInstanceOf(DeploymentError);
    const sentence = await wordOf(work);
    expect(sentence).toContain('The database lacks 0001-books.sql, 0002-reference.sql');
    expect(sentence).toContain('Set DATABASE_OWNER_URL to a login that may');
    expect(sentence).not.toContain(server.password);
  });

  it('When a session holds a table that a migration changes, Then the sentence names it, and not the login', async () => {
    await (await openDeployment(settings({ databaseUrl: asOwner() }))).close();

    const sentence = await administer({ connectionString: database.urlOf() }, async (client) => {
      await client.query(`delete from banking.schema_migration where name like '%-paused-orders.sql'`);
      await client.query('begin; lock table banking.customer_order in access share mode');
      return wordOf(openDeployment(settings({ databaseUrl: asOwner() })));
    });

    expect(sentence).toMatch(/-paused-orders\.sql waited 2 s for a lock .* with locks on customer_order/);
    expect(sentence).not.toContain('may not migrate');
  });

  it('When a login may do nothing here, Then the sentence says what it lacks', async () => {
    await (await openDeployment(settings({ databaseUrl: asOwner() }))).close();

    const sentence = await wordOf(openDeployment(settings({ databaseUrl: database.urlOf('stranger') })));

    expect(sentence).toContain('grant "banking_app" to');
  });

  it('When a command that changes nothing comes first, Then it is refused, and nothing has changed', async () => {
    const work = openDeployment({ ...settings({}), demo: true, prepare: false });

    expect(await wordOf(work)).toContain('Run banking migrate or start the service first');
    const look = await wordOf(openDeployment({ ...settings({}), prepare: false }));
    expect(look).toContain('The database lacks 0001-books.sql');
  });

  it('When two start at once, Then both serve', async () => {
    const both = await Promise.all([1, 2].map(() => openDeployment({ ...settings({}), demo: true })));

    const worlds = await Promise.all(both.map(({ database }) => readDemoWorld(database)));
    expect(worlds[0]).toEqual(worlds[1]);
    await Promise.all(both.map((deployment) => deployment.close()));
  });

  it('When nobody answers there, Then the sentence names the server and no password', async () => {
    const databaseUrl = `postgres://somebody:${server.password}@127.0.0.1:1/bank`;

    const work = openDeployment(settings({ databaseUrl }));

    await expect(work).rejects.toBeInstanceOf(DeploymentError);
    expect(await wordOf(work)).toMatch(/^The database at 127\.0\.0\.1:1 cannot be reached/);
    expect(await wordOf(work)).not.toContain(server.password);
  });
});

// Whoever tests against a server of their own may have no embedded one.
(process.env['DATABASE_URL'] ? describe.skip : describe)('Given no server', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'banking-deployment-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  it('When it starts twice, Then the embedded one keeps the same demo world', async () => {
    const start = async () => {
      const deployment = await openDeployment({
        dataDir,
        demo: true,
        isSandbox: true,
        poolSize: 2,
        nameStatements: false,
      });
      const demo = await readDemoWorld(deployment.database);
      const { findings } = await verifyBooks(deployment.database, Object.values(demo!.workspaces));
      await deployment.close();
      return { demo, findings };
    };

    const first = await start();

    expect(first.findings).toEqual([]);
    // The documentation names these.
    expect(first.demo?.transfers).toEqual({
      funding: 10,
      internal: 24,
      international: 26,
      pending: 30,
      returned: 34,
      spot: 40,
    });
    expect(await start()).toEqual(first);
  });

  it('When the demo world has been made, Then a transfer is found by its key and not among all of its workspace', async () => {
    const deployment = await openDeployment({ dataDir, demo: true, isSandbox: true });

    const plan = await deployment.database.flight({ workspaces: [1] }, [
      sql<{ 'QUERY PLAN': string }>('explain select from transfer where workspace_id = 1 and id = 26'),
    ] as const);

    expect(plan[0].map((line) => line['QUERY PLAN']).join('\n')).toContain('transfer_pkey');
    await deployment.close();
  });

  it('When a connection throws its role off, Then it has no rights at all', async () => {
    const deployment = await openDeployment({ dataDir, demo: false, isSandbox: true, isService: true });

    const naked = deployment.database.transaction({}, async (tx) => {
      const [, rows] = await tx.flight([
        sql('reset role'),
        sql('select session_user as login, usesuper from pg_user where usename = session_user'),
      ] as const);
      await expect(tx.flight([sql('select id from banking.account')])).rejects.toMatchObject({ code: '42501' });
      return rows;
    });

    expect(await naked).toEqual([{ login: 'banking_login', usesuper: false }]);
    await deployment.close();
  });

  it('When its tables are overwritten, Then the sentence says that it is damaged, and what to do', async () => {
    await (await openDeployment({ dataDir, demo: true, isSandbox: true })).close();
    await overwriteTables(join(dataDir, 'database/base/5'));

    const work = openDeployment({ dataDir, demo: true, isSandbox: true });

    await expect(work).rejects.toBeInstanceOf(DeploymentError);
    expect(await wordOf(work)).toMatch(/^The database in DATA_DIR is damaged: .+ put a backup in its place\.$/s);
  });
});

/** Puts noise over our own tables and leaves PostgreSQL's, which have numbers below 16384. */
async function overwriteTables(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => /^\d+$/.test(one) && Number(one) >= 16_384)) {
    const content = await readFile(join(folder, name));
    await writeFile(join(folder, name), content.fill(0x5a, 0, Math.min(4096, content.length)));
  }
}
