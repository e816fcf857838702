import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { APP_ROLE, BASELINE, migrate, OWNER_ROLE, PROVISIONING_ROLE, readMigrations, SCHEMA } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { MIGRATIONS } from './all-migrations.js';
import { readCatalog } from './testing/read-catalog.js';

/** The catalog after the baseline, and the hash of each file up to it. Neither changes any more. */
const FILE = join(__dirname, '..', `schema-of-${String(BASELINE).padStart(4, '0')}.txt`);

let world: FreshDatabase;
let folder: string;

beforeAll(async () => {
  world = await freshDatabase();
  await world.owner.query(`drop schema ${SCHEMA} cascade`);
  folder = await mkdtemp(join(tmpdir(), 'banking-baseline-'));
  for (const original of MIGRATIONS) {
    for (const name of await readdir(original)) {
      if (Number(name.slice(0, 4)) <= BASELINE) await copyFile(join(original, name), join(folder, name));
    }
  }
  await migrate({
    connection: world.connection,
    folders: [folder],
    ...{ schema: SCHEMA, ownerRole: OWNER_ROLE, appRole: APP_ROLE, provisioningRole: PROVISIONING_ROLE },
    parameters: { 'banking.sandbox': 'on' },
  });
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

async function present(): Promise<string> {
  const files = (await readMigrations([folder])).map(({ name, sha256 }) => `migration ${name} ${sha256}`);
  return `${[...files, ...(await readCatalog(world.owner, SCHEMA))].join('\n')}\n`;
}

describe('the migrations up to the baseline', () => {
  // A database that was migrated earlier has this schema, so another result would differ between deployments.
  it('make the schema that the fixture holds', async () => {
    expect(await present()).toBe(readFileSync(FILE, 'utf8'));
  });

  it.each([
    'alter table transfer add column extra text',
    'alter table transfer alter column description set default $$none$$',
    'alter table transfer drop constraint transfer_recipient_digest',
    'drop index transfer_by_id',
    'drop trigger followed on transaction',
    'create or replace function rfc3339(instant timestamptz) returns text language sql stable as $$select null$$',
    'grant delete on transfer to banking_app',
    'alter table transfer disable row level security',
    'drop policy written_now on transfer',
    'alter sequence transfer_id_seq maxvalue 10',
  ])('are compared by all parts of the schema: %s', async (change) => {
    const before = await present();
    await world.owner.query(`begin; set local role ${OWNER_ROLE}; ${change}`);

    const after = await present();

    await world.owner.query('rollback');
    expect(after).not.toBe(before);
  });
});
