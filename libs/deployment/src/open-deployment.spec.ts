import { SQLSTATE } from '@banking/postgres';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyBooks } from '@banking/ledger';
import { ConfigError } from '@banking/process';
import { administer, sql, reasonOf } from '@banking/postgres/testing';
import { makeDemoData, readDemoIds } from '@banking/operations/demo';
import { DeploymentError } from './explain-failure.js';
import { openDeployment, type DeploymentSettings } from './open-deployment.js';
import { withLaterMigrations } from './testing/later-migrations.js';
import { ownServer, type OwnServer } from './testing/own-server.js';

describe('a deployment on an external server, with a new database', () => {
  let server: OwnServer;
  let database: Awaited<ReturnType<OwnServer['makeDatabase']>>;
  /** A database that the login of the owner has migrated. */
  let migrated: typeof database;

  beforeAll(async () => {
    server = await ownServer();
    migrated = await server.makeDatabase();
    await (await openDeployment(settings({ databaseUrl: migrated.urlOf('owner') }))).close();
  });
  afterAll(async () => {
    await migrated.drop();
    await server.close();
  });

  beforeEach(async () => {
    database = await server.makeDatabase();
  });
  afterEach(() => database.drop());
  const useMigrated = async () => {
    await database.drop();
    database = await server.makeDatabase(migrated);
  };

  const settings = (urls: { databaseUrl?: string; ownerUrl?: string }): DeploymentSettings => ({
    databaseUrl: urls.databaseUrl ?? database.urlOf(),
    dataDir: '/nowhere',
    isSandbox: true,
    ownerUrl: urls.ownerUrl,
  });
  const asOwner = () => database.urlOf('owner');
  const asApp = () => database.urlOf('app');

  it('serves as one login what another login has migrated', async () => {
    const urls = { databaseUrl: asApp(), ownerUrl: asOwner() };
    const deployment = await openDeployment({ ...settings(urls), isService: true });

    const who = await deployment.database.read({}, sql('select session_user as login, current_user as role'));
    expect(who).toEqual({ login: server.logins.app, role: 'banking_api' });
    await deployment.close();
  });

  it('needs no owner login if the schema is up to date', async () => {
    await useMigrated();

    const deployment = await openDeployment({ ...settings({ databaseUrl: asApp() }), isService: true });

    expect(await readDemoIds(deployment.database)).toBeUndefined();
    await deployment.close();
  });

  it('names DATABASE_OWNER_URL if the login of the service cannot migrate', async () => {
    const work = openDeployment(settings({ databaseUrl: asApp() }));

    await expect(work).rejects.toBeInstanceOf(DeploymentError);
    const sentence = await reasonOf(work);
    expect(sentence).toContain('The database lacks 0001-deployment.sql, 0002-reference.sql');
    expect(sentence).toContain('Set DATABASE_OWNER_URL to a login that may');
    expect(sentence).not.toContain(server.password);
  });

  it('names the table that another session has locked against a migration', async () => {
    await useMigrated();

    const later = '-- Later.\n-- Phase: expand\nalter table customer_order add column later text;\n';
    const sentence = await withLaterMigrations([later], () =>
      administer({ connectionString: database.urlOf() }, async (client) => {
        await client.query('begin; lock table banking.customer_order in access share mode');
        return reasonOf(openDeployment(settings({ databaseUrl: asOwner() })));
      }),
    );

    expect(sentence).toMatch(/-later\.sql waited 2 s for a lock .* with locks on customer_order/);
    expect(sentence).not.toContain('may not migrate');
  });

  it('names the role that a login without rights lacks', async () => {
    await useMigrated();

    const sentence = await reasonOf(openDeployment(settings({ databaseUrl: database.urlOf('stranger') })));

    expect(sentence).toContain('grant "banking_api" to');
  });

  it('ends with the reason of its signal before it migrates', async () => {
    const stopping = new AbortController();
    const reason = new Error('stopping');
    const log = () => stopping.abort(reason);

    const stopped = openDeployment({ ...settings({}), signal: stopping.signal, log });

    await expect(stopped).rejects.toBe(reason);
    expect(await reasonOf(openDeployment({ ...settings({}), prepare: false }))).toContain('lacks 0001-deployment.sql');
  });

  it('refuses a new database and changes nothing without `prepare`', async () => {
    const work = openDeployment({ ...settings({}), prepare: false });

    expect(await reasonOf(work)).toContain('Run banking migrate first');
    const again = await reasonOf(openDeployment({ ...settings({}), prepare: false }));
    expect(again).toContain('The database lacks 0001-deployment.sql');
  });

  it.each(['LATIN1', 'SQL_ASCII'])('refuses the encoding %s as a mistake of the configuration', async (encoding) => {
    const other = await server.makeDatabase(
      { name: 'template0' },
      `encoding '${encoding}' locale_provider libc lc_collate 'C' lc_ctype 'C'`,
    );
    const work = openDeployment({ ...settings({ databaseUrl: other.urlOf('owner') }), isService: true });

    await expect(work).rejects.toBeInstanceOf(ConfigError);
    const sentence = await reasonOf(work);
    expect(sentence).toContain(
      `has the encoding ${encoding}: create one with ENCODING 'UTF8', and name it in DATABASE_URL.`,
    );
    expect(sentence).not.toContain(server.password);
    await other.drop();
  });

  it('serves from two processes that start at the same time', async () => {
    const both = await Promise.all([1, 2].map(() => openDeployment(settings({}))));
    await Promise.all(both.map((deployment) => makeDemoData(deployment)));

    const worlds = await Promise.all(both.map(({ database }) => readDemoIds(database)));
    expect(worlds[0]).toEqual(worlds[1]);
    await Promise.all(both.map((deployment) => deployment.close()));
  });

  it('names an unreachable server without its password', async () => {
    const databaseUrl = `postgres://service:${server.password}@127.0.0.1:1/bank`;

    const work = openDeployment(settings({ databaseUrl }));

    await expect(work).rejects.toBeInstanceOf(DeploymentError);
    expect(await reasonOf(work)).toMatch(/^The database at 127\.0\.0\.1:1 cannot be reached/);
    expect(await reasonOf(work)).not.toContain(server.password);
  });
});

// An environment with DATABASE_URL may have no embedded server.
(process.env['DATABASE_URL'] ? describe.skip : describe)('a deployment on the embedded server', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'banking-deployment-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  it('keeps the demo data, with the ids that the documentation names', async () => {
    const start = async () => {
      const deployment = await openDeployment({ dataDir, isSandbox: true, poolSize: 2, nameStatements: false });
      await makeDemoData(deployment);
      const demo = await readDemoIds(deployment.database);
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

  it('reads a transfer by its id after the statistics are refreshed', async () => {
    const deployment = await openDeployment({ dataDir, isSandbox: true });

    const plan = await deployment.database.pipeline({ workspaces: [1] }, [
      sql<{ 'QUERY PLAN': string }>(
        'explain select from transfer where workspace_id = 1 and id = 26 and account_version is not null',
      ),
    ] as const);

    expect(plan[0].map((line) => line['QUERY PLAN']).join('\n')).toContain('transfer_by_id');
    await deployment.close();
  });

  it('leaves a connection without rights after `reset role`', async () => {
    const deployment = await openDeployment({ dataDir, isSandbox: true, isService: true });

    const roleless = deployment.database.transaction({}, async (tx) => {
      const [, rows] = await tx.pipeline([
        sql('reset role'),
        sql('select session_user as login, usesuper from pg_user where usename = session_user'),
      ] as const);
      await expect(tx.pipeline([sql('select id from banking.account')])).rejects.toMatchObject({
        code: SQLSTATE.insufficientPrivilege,
      });
      return rows;
    });

    expect(await roleless).toEqual([{ login: 'banking_login', usesuper: false }]);
    await deployment.close();
  });

  it('reports overwritten tables as damage, with what to do', async () => {
    await (await openDeployment({ dataDir, isSandbox: true })).close();
    await overwriteTables(join(dataDir, 'database/base/5'));

    const work = openDeployment({ dataDir, isSandbox: true });

    await expect(work).rejects.toBeInstanceOf(DeploymentError);
    expect(await reasonOf(work)).toMatch(/^The database in DATA_DIR is damaged: .+ put a backup in its place\.$/s);
  });
});

/** Overwrites the tables of this project. Those of PostgreSQL itself have numbers below 16384. */
async function overwriteTables(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => /^\d+$/.test(one) && Number(one) >= 16_384)) {
    const content = await readFile(join(folder, name));
    await writeFile(join(folder, name), content.fill(0x5a, 0, Math.min(4096, content.length)));
  }
}
