import { MigrationError } from '@banking/postgres';
import { freshDatabase, type FreshDatabase, reasonOf } from '@banking/postgres/testing';
import { missingMigrations } from './migrate-deployment.js';
import { RELEASE } from './release.js';
import { checkServedSchema } from './open-deployment.js';

const LATER = '99.0.0';

let world: FreshDatabase;
beforeEach(async () => {
  world = await freshDatabase();
});
afterEach(() => world.close());

/** Records a migration of a later release, as if that release had applied it. */
const apply = (phase: 'expand' | 'contract', since: string | null) =>
  world.owner.query(
    `insert into schema_migration (number, name, sha256, phase, since) values (9999, '9999-later.sql', '', $1, $2)`,
    [phase, since],
  );
const start = () => missingMigrations({ connection: world.connection, isSandbox: true });

describe('a database that a later release has migrated', () => {
  it.each([
    ['only adds', 'expand', null],
    ['removes what this release no longer uses', 'contract', RELEASE],
  ] as const)('is served by this release if the migration %s', async (_, phase, since) => {
    await apply(phase, since);

    expect(await start()).toEqual([]);
    await checkServedSchema(world.database);
  });

  it('is refused with the release that it needs if the migration removes what this release uses', async () => {
    await apply('contract', LATER);

    await expect(start()).rejects.toBeInstanceOf(MigrationError);
    expect(await reasonOf(start())).toContain(`it has 9999-later.sql, after which release ${LATER} or newer is needed`);
  });

  it('is refused by a process that has connected if the migration was applied since its first check', async () => {
    await start();
    await checkServedSchema(world.database);
    await apply('contract', LATER);

    await expect(checkServedSchema(world.database)).rejects.toThrow(`release ${LATER} or newer is needed`);
  });
});
