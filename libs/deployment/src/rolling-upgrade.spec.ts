import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  APP_ROLE,
  BASELINE,
  migrate,
  MigrationError,
  OWNER_ROLE,
  PROVISIONING_ROLE,
  readMigrations,
  SCHEMA,
} from '@banking/postgres';
import { administer, freshDatabase, reasonOf } from '@banking/postgres/testing';
import { MIGRATIONS } from './all-migrations.js';
import { migrateDeployment, missingMigrations, planDeployment } from './migrate-deployment.js';
import { openDeployment } from './open-deployment.js';
import { RELEASE } from './release.js';
import { checkServedSchema } from './served-schema.js';
import { ownServer, type OwnServer } from './testing/own-server.js';

const EXPAND = '-- A note.\n-- Phase: expand\nalter table account add column note text;';
const contract = (since: string) => `-- No note.\n-- Phase: contract, since ${since}\nselect 1;`;
const LATER = '99.0.0';

let server: OwnServer;
let database: Awaited<ReturnType<OwnServer['makeDatabase']>>;
let folder: string;
/** The number of the first migration that this program does not have. */
let next: number;

beforeAll(async () => {
  server = await ownServer();
  next = (await readMigrations(MIGRATIONS)).length + 1;
});
afterAll(() => server.close());

beforeEach(async () => {
  database = await server.makeDatabase();
  folder = await mkdtemp(join(tmpdir(), 'banking-next-'));
});
afterEach(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

const connection = () => ({ connectionString: database.urlOf() });
const settings = () => ({ databaseUrl: database.urlOf(), dataDir: '/nowhere', isSandbox: true });

/** Migrates as a later release does, which has more migrations. */
async function migrateByNextRelease(...texts: readonly string[]): Promise<unknown> {
  for (const [index, text] of texts.entries()) {
    await writeFile(join(folder, `${String(next + index).padStart(4, '0')}-next.sql`), text);
  }
  return migrate({
    connection: connection(),
    folders: [...MIGRATIONS, folder],
    ...{ schema: SCHEMA, ownerRole: OWNER_ROLE, appRole: APP_ROLE, provisioningRole: PROVISIONING_ROLE },
    parameters: { 'banking.sandbox': 'on' },
    release: LATER,
  });
}

describe('a database that the next release has migrated', () => {
  it('is served by this release if the migrations only add', async () => {
    await migrateByNextRelease(EXPAND);

    const deployment = await openDeployment({ ...settings(), isService: true });

    await deployment.database.ping();
    await deployment.close();
    const worker = await openDeployment({ ...settings(), isService: true, prepare: false });
    await worker.close();
  });

  it('is served by this release if the migrations remove what it no longer uses', async () => {
    await migrateByNextRelease(EXPAND, contract(RELEASE));

    await (await openDeployment(settings())).close();
    const schema = { connection: connection(), isSandbox: true };
    expect(await missingMigrations(schema)).toEqual([]);
    expect(await migrateDeployment(schema)).toEqual([]);
  });

  it('is refused with the release that it needs if a migration removes what this release uses', async () => {
    await migrateByNextRelease(EXPAND, contract(LATER));

    for (const prepare of [true, false]) {
      const work = openDeployment({ ...settings(), prepare });
      await expect(work).rejects.toBeInstanceOf(MigrationError);
      expect(await reasonOf(work)).toMatch(
        new RegExp(`^The database is newer than this program: it has \\d{4}-next\\.sql, after which release ${LATER} `),
      );
    }
  });
});

describe('a migration that removes what this release uses', () => {
  it('is refused while this release is connected, after those that only add', async () => {
    const deployment = await openDeployment(settings());

    const reason = await reasonOf(migrateByNextRelease(EXPAND, contract(LATER)));

    expect(reason).toContain(`such processes are connected: release ${RELEASE} (`);
    await deployment.database.ping();
    await deployment.close();
    const { rows } = await administer(connection(), (client) =>
      client.query(`select phase from banking.schema_migration where number > ${BASELINE} order by number desc`),
    );
    expect(rows[0]).toEqual({ phase: 'expand' });
  });
});

describe('a plan', () => {
  it('names the connected processes of this release', async () => {
    const deployment = await openDeployment(settings());

    const plan = await planDeployment({ connection: connection(), isSandbox: true });

    expect(plan).toMatchObject({ pending: [], isNew: false, connected: [{ release: RELEASE }] });
    await deployment.close();
  });
});

describe('the check of a connected process', () => {
  it('refuses a start in which a contract migration was applied after the first check', async () => {
    await (await openDeployment(settings())).close();
    // Applies the last file of the baseline again, and with it a later migration of another process.
    await administer(connection(), (client) =>
      client.query(`
        delete from banking.schema_migration where number = ${BASELINE};
        create function banking.apply_later() returns trigger language plpgsql as $$
        begin
          insert into banking.schema_migration (number, name, sha256, phase, since)
          values (9999, '9999-later.sql', '', 'contract', '${LATER}');
          return null;
        end $$;
        create trigger later after insert on banking.schema_migration
          for each row when (new.number = ${BASELINE}) execute function banking.apply_later()`),
    );

    const work = openDeployment(settings());

    await expect(work).rejects.toThrow(`it has 9999-later.sql, after which release ${LATER} or newer is needed`);
  });

  it('refuses a contract migration that was applied since its first check', async () => {
    const world = await freshDatabase();
    await checkServedSchema(world.database);
    await world.owner.query(
      `insert into schema_migration (number, name, sha256, phase, since) values (9999, '9999-later.sql', '', 'contract', '${LATER}')`,
    );

    await expect(checkServedSchema(world.database)).rejects.toThrow(`release ${LATER} or newer is needed`);

    await world.owner.query('alter table schema_migration drop column phase, drop column since');
    await checkServedSchema(world.database);
    await world.close();
  });
});
